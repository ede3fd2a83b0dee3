/**
 * A gateway with a plugin whose artifact hooks follow the stored answer, and a vendor with a file
 * and several kinds of misbehaviour.
 */

import { pluginSource } from '../../plugins/support.ts';
import { type Administrator, letNothingWait, setUp, startGateway } from '../../support/gateway.ts';

export const VENDOR_KEY = 'vendor-key-0123456789';
export const FILE = Uint8Array.from({ length: 100_000 }, (_, i) => i % 251);
/** Larger than a body that is sent with Content-Length. */
export const LARGE = 3 * 1024 * 1024;

const HOOKS = `
export const protocols = { proto_video: {
  decodeRequest: ({ model, body }) => ({ kind: 'submit', model, requestBody: body.kind === 'json' ? body.value : { fields: body.fields, files: body.files } }),
  render: (ctx, task) => { if (task.data.render_throws) throw new Error('cannot render'); return task.data.rendered ?? {}; },
} };
export function listArtifacts({ data }) {
  if (data.list_throws) throw new Error(data.list_throws);
  return data.list || [{ key: 'video', type: 'video' }];
}
export function buildContentRequest(ctx) {
  const { throw: message, key, ...described } = (ctx.data.contents || {})[ctx.artifactKey] || ctx.data.content || {};
  if (message) throw new Error(message);
  const url = described.url || '/file';
  const headers = key ? { Authorization: 'Bearer ' + ctx.apiKey, ...described.headers } : described.headers;
  return { method: ctx.clientRequest.method, ...described, headers, url: url.startsWith('/') ? ctx.baseUrl + url : url };
}`;

const artifactPlugin = (key: string, change: object = {}): string =>
  pluginSource({ key, models: [`${key}-1`], protocols: ['proto_video'], ...change }, HOOKS).replace(
    'return { taskId: response.body.id };',
    'return { taskId: response.body.id, taskData: response.body, immediate: { status: response.body.end || "SUCCESS", reason: "the vendor gave up" } };',
  );

/** A plugin's source without its hooks of videos: its artifacts alone say what it makes. */
export const withoutVideo = (source: string): string => source.replace(/export const protocols[\s\S]*?\n\} \};/, '');

type Seen = { method: string; path: string; headers: Record<string, string> };
export type ArtifactGateway = Awaited<ReturnType<typeof startArtifactGateway>>;

/** Plugins `acme` and `gone` with a channel each at this vendor. */
export async function addArtifactPlugins(admin: Administrator, vendorUrl: string): Promise<void> {
  for (const key of ['acme', 'gone']) {
    await admin.call('POST', '/api/plugin/task', { source: artifactPlugin(key) });
    await admin.createChannel(vendorUrl, { models: [`${key}-1`], task_plugin_key: key, key: VENDOR_KEY });
  }
}

export async function startArtifactGateway(env: Record<string, string> = {}) {
  const vendor = startVendor();
  const gateway = await startGateway({ env: { TRUSTED_PROXIES: '127.0.0.1', ...env } });
  const { url } = gateway;
  const admin = await setUp(gateway);
  await letNothingWait(admin);
  await addArtifactPlugins(admin, vendor.url);
  const key = await admin.createKey();

  /** Sends one request and reads the body; `address` is the client's. */
  async function get(path: string, init: { address?: string; token?: string; method?: string; headers?: object } = {}) {
    const response = await fetch(path.startsWith('http') ? path : `${url}${path}`, {
      method: init.method ?? 'GET',
      headers: {
        'x-forwarded-for': init.address ?? '198.51.100.1',
        ...(init.token ? { authorization: `Bearer ${init.token}` } : {}),
        ...init.headers,
      },
    });
    const bytes = await response.bytes();
    const text = new TextDecoder().decode(bytes);
    const json = (text.startsWith('{') ? JSON.parse(text) : {}) as Record<string, unknown>;
    const code = (json.error as { code?: string } | undefined)?.code ?? '';
    return { status: response.status, headers: response.headers, bytes, text, json, code };
  }

  return {
    gateway,
    /** Adds a plugin of this kind, with a channel for its model, whose id it returns. */
    async addPlugin(plugin: string, change: object, edit = (text: string) => text) {
      await admin.call('POST', '/api/plugin/task', { source: edit(artifactPlugin(plugin, change)) });
      return admin.createChannel(vendor.url, { models: [`${plugin}-1`], task_plugin_key: plugin, key: VENDOR_KEY });
    },
    /** Activates a new version of a plugin. */
    async serve(plugin: string, version: string, change: (source: string) => string) {
      await admin.call('POST', '/api/plugin/task', { source: change(artifactPlugin(plugin, { version })) });
      await admin.call('POST', `/api/plugin/task/${plugin}/activate`, { version });
    },
    /** Lets a version read the tasks of the others as well. */
    adopt: (plugin: string, version: string) =>
      admin.call('POST', `/api/plugin/task/${plugin}/activate?adopt=true`, { version }),
    url,
    admin,
    key,
    vendor,
    get,
    /** Stores a task that succeeded with this answer of the vendor; returns its id. */
    async finished(answer: object = {}, plugin = 'acme', token = key): Promise<string> {
      const submitted = await fetch(`${url}/v1/tasks/${plugin}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: `${plugin}-1`, ...answer }),
      });
      const body = (await submitted.json()) as { id: string };
      if (submitted.status !== 200) throw new Error(JSON.stringify(body));
      return body.id;
    },
    async links(id: string, token = key): Promise<Record<string, string>> {
      const { json } = await get(`/v1/tasks/${id}/artifacts`, { token });
      const list = json.artifacts as { key: string; content_url: string }[];
      return Object.fromEntries(
        list.map((artifact) => {
          const link = new URL(artifact.content_url);
          return [artifact.key, `${url}${link.pathname}${link.search}`];
        }),
      );
    },
    async stop() {
      await gateway.stop();
      await vendor.stop();
    },
  };
}

/** What the vendor answers on paths other than the file. */
const STATUSES = /^\/status\/(\d+)$/;

export function startVendor() {
  const seen: Seen[] = [];
  /** What was submitted, by the path of its status. */
  const jobs = new Map<string, Record<string, unknown>>();
  const open = new Set<string>();
  const files = new Map<string, Uint8Array>();
  /** Orders with `hold`, which wait for their answer. */
  const held: (() => void)[] = [];
  const serve = async (request: Request): Promise<Response> => {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === '/jobs') {
      const { model: _, ...directive } = (await request.json()) as Record<string, unknown>;
      if (directive.hold) await new Promise<void>((resolve) => held.push(resolve));
      const id = `job-${crypto.randomUUID()}`;
      jobs.set(`/jobs/${id}`, directive);
      return Response.json({ id, ...directive });
    }
    const job = jobs.get(pathname);
    if (job) return Response.json({ ...job, status: 'SUCCESS' });
    seen.push({ method: request.method, path: pathname, headers: Object.fromEntries(request.headers) });
    const status = STATUSES.exec(pathname)?.[1];
    if (status) return new Response('words of the vendor', { status: Number(status), headers: { 'retry-after': '7' } });
    if (pathname === '/redirect') {
      return new Response(null, { status: 302, headers: { location: searchParams.get('to') ?? '' } });
    }
    if (pathname === '/around') {
      const left = Number(searchParams.get('left'));
      const location = left > 0 ? `/around?left=${left - 1}` : '/file';
      return new Response(null, { status: 307, headers: { location } });
    }
    if (pathname === '/signed' && request.method !== 'GET') return new Response(null, { status: 403 });
    const stored = files.get(pathname);
    if (stored) return new Response(Uint8Array.from(stored));
    if (pathname === '/echo') return Response.json({ method: request.method, body: await request.text() });
    if (pathname === '/large') return new Response(new Uint8Array(LARGE));
    if (pathname.startsWith('/hang')) {
      open.add(pathname);
      request.signal.addEventListener('abort', () => open.delete(pathname));
      return new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(new Uint8Array(1000)),
          cancel: () => void open.delete(pathname),
        }),
      );
    }
    return file(request);
  };
  const one = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: serve });
  const other = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: serve });
  return {
    url: one.url.origin,
    /** The same vendor at another origin. */
    other: other.url.origin,
    seen,
    /** What was submitted last, without its model. */
    submitted: () => [...jobs.values()].at(-1),
    /** How many orders with `hold` wait for their answer; `answerHeld` gives it to them. */
    held: () => held.length,
    answerHeld() {
      for (const answer of held.splice(0)) answer();
    },
    /** How many orders it has taken. */
    orders: () => jobs.size,
    /** Downloads that the vendor keeps waiting. */
    open,
    /** More files, by path. */
    files,
    async stop() {
      await Promise.all([one.stop(true), other.stop(true)]);
    },
  };
}

function file(request: Request): Response {
  const headers: Record<string, string> = {
    'content-type': 'video/mp4',
    etag: '"v1"',
    'last-modified': 'Sat, 03 Jan 2026 10:00:00 GMT',
    'accept-ranges': 'bytes',
    'content-disposition': 'attachment; filename="a.mp4"',
    'set-cookie': 'vendor=1',
    'x-vendor-secret': 'inside',
  };
  if (request.headers.get('if-none-match') === '"v1"') return new Response(null, { status: 304, headers });
  if (request.headers.get('if-modified-since')) return new Response(null, { status: 304, headers });
  const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.get('range') ?? '');
  const validator = request.headers.get('if-range');
  if (!range || (validator !== null && validator !== '"v1"')) return new Response(FILE, { headers });
  const [from, to] = [Number(range[1]), Number(range[2])];
  if (from >= FILE.length) {
    return new Response(null, { status: 416, headers: { 'content-range': `bytes */${FILE.length}` } });
  }
  return new Response(FILE.slice(from, to + 1), {
    status: 206,
    headers: { ...headers, 'content-range': `bytes ${from}-${to}/${FILE.length}` },
  });
}
