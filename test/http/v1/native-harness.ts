/**
 * A gateway with plugins whose decoders follow instructions in the request, and a vendor that
 * records what it receives.
 */

import { pluginSource } from '../../plugins/support.ts';
import { ask, letNothingWait, setUp, startGateway } from '../../support/gateway.ts';
import { migratedDatabaseUrl } from '../../support/migrated-database.ts';

type Route = Record<string, unknown>;

const decodes = { type: 'submit', decode: 'decode', render: 'present' };
const ROUTES: Route[] = [
  { method: 'POST', path: '/acme/submit', ...decodes, action: 'route_action' },
  { method: 'POST', path: '/acme/narrow', ...decodes, models: ['acme-1'] },
  { method: 'POST', path: '/acme/unpresentable', ...decodes, render: 'fail' },
  { method: 'PUT', path: '/acme/files/:name/*rest', ...decodes },
  { method: 'GET', path: '/acme/start', ...decodes },
  { method: 'POST', path: '/acme/slash/', ...decodes },
  { method: 'POST', path: '/acme/any', ...decodes, type: 'dynamic' },
  { method: 'GET', path: '/acme/any', ...decodes, type: 'dynamic' },
  { method: 'GET', path: '/acme/tasks/:task_id', type: 'query', render: 'present' },
  { method: 'POST', path: '/acme/tasks/:task_id', type: 'query', render: 'present' },
  { method: 'GET', path: '/acme/named/:id', type: 'query', taskIdParam: 'id', render: 'present' },
  { method: 'GET', path: '/acme/unpresentable/:task_id', type: 'query', render: 'fail' },
];

/**
 * In the request, `result` is what the decoder returns and `throw` is what it throws. Presenters
 * show everything they get.
 */
const NATIVE = `
const directive = ({ body }) =>
  body.kind === 'json' ? body.value : body.kind === 'none' ? {} : JSON.parse((body.fields.directive || ['{}'])[0]);
export const native = {
  decode(ctx) {
    const { result, throw: message } = directive(ctx);
    if (message) throw new Error(message);
    if (result !== undefined) return result;
    return { kind: 'submit', model: 'acme-1', requestBody: { seen: ctx.body } };
  },
  present: (ctx, given) => ({ ctx, given }),
  fail() { throw new Error('words of the presenter'); },
  ERRORS
};`;

const source = (key: string, errors: string, change: object = {}): string =>
  pluginSource(
    {
      key,
      routes: ROUTES.map((route) => ({ ...route, path: String(route.path).replace('/acme', `/${key}`) })),
      ...change,
    },
    NATIVE.replace('ERRORS', errors),
  )
    .replace('body: ctx.requestBody', 'body: { ctx, ...ctx.requestBody }')
    .replace('taskId: response.body.id', 'taskId: response.body.id, taskData: response.body');

const PRESENTS_ERRORS = `error(ctx, error) {
    if (ctx.query.silent) return undefined;
    if (ctx.query.clumsy) throw new Error('secret of the error presenter');
    return { vendor: error, at: ctx.path, params: ctx.params, body: ctx.body.kind };
  },`;

const VIDEO = `
export const protocols = { proto_video: {
  decodeRequest: ({ model, body }) => ({ kind: 'submit', model, originTaskIds: body.value.origins }),
  render: (ctx, task) => ({ metadata: { ctx, task } }),
} };`;

export type Job = { id: string; ctx: Record<string, unknown>; [name: string]: unknown };

export type NativeGateway = Awaited<ReturnType<typeof startNativeGateway>>;

export async function startNativeGateway(dialect: 'sqlite' | 'postgres') {
  const jobs: Job[] = [];
  let answersHeld: Promise<void> | undefined;
  const vendor = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      if (request.method === 'GET') return Response.json({ status: 'IN_PROGRESS' });
      const body = (await request.json()) as Omit<Job, 'id'>;
      const id = `job-${jobs.length + 1}`;
      jobs.push({ ...body, id } as Job);
      await answersHeld;
      const { answer = 200 } = body as { answer?: number };
      if (answer !== 200) return Response.json({ message: 'the vendor says no' }, { status: answer });
      if (body.garbage) return Response.json({ nothing: true });
      if (body.large) return Response.json({ id, pad: 'a b '.repeat(225_000) });
      return Response.json({ id, task_id: id, inner: [{ taskId: id, url: `https://cdn.example/${id}`, name: id }] });
    },
  });
  const gateway = await startGateway({ databaseUrl: dialect === 'postgres' ? await migratedDatabaseUrl() : '' });
  const { url } = gateway;
  const admin = await setUp(gateway);
  await letNothingWait(admin);
  await admin.call('POST', '/api/plugin/task', {
    source:
      source('acme', PRESENTS_ERRORS, { models: ['acme-1', 'acme-2', 'acme-3'], protocols: ['proto_video'] }) + VIDEO,
  });
  await admin.call('POST', '/api/plugin/task', { source: source('beta', '', { models: ['beta-1', 'acme-1'] }) });
  const addChannel = (fields: object = {}) =>
    admin.createChannel(vendor.url.href, { models: ['acme-1', 'acme-2'], task_plugin_key: 'acme', ...fields });
  const channel = await addChannel();
  await addChannel({ models: ['beta-1', 'acme-1'], task_plugin_key: 'beta' });
  const key = await admin.createKey();

  return {
    url,
    port: gateway.port,
    admin,
    key,
    channel,
    addChannel,
    jobs,
    log: () => gateway.log(),
    /** The vendor holds its answers to submissions until the promise settles. */
    hold: (until: Promise<void> | undefined) => {
      answersHeld = until;
    },
    send: (
      path: string,
      body?: unknown,
      init: { method?: string; token?: string; headers?: Record<string, string> } = {},
    ) => ask(`${url}${path}`, { token: key, ...(body === undefined ? {} : { body }), ...init }),
    /** Submits with this decoder result; returns the public id and the request the vendor got. */
    async submit(result?: object, plugin = 'acme'): Promise<{ id: string; job: Job }> {
      const directive = result ?? { kind: 'submit', model: plugin === 'acme' ? 'acme-1' : 'beta-1' };
      const { status, body } = await ask(`${url}/${plugin}/submit`, { token: key, body: { result: directive } });
      if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
      const id = (body.given as { task_id: string }).task_id;
      return { id, job: jobs.find(({ ctx }) => ctx.publicTaskId === id) as Job };
    },
    async stop() {
      await gateway.stop();
      await vendor.stop(true);
    },
  };
}
