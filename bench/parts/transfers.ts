import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setUp } from '../../test/support/gateway.ts';
import { type Figure, higher, lower, note, row } from '../figures.ts';
import type { Run } from '../part.ts';
import { readMemory } from '../read-processes.ts';
import { startBuild } from '../stage.ts';

const CLIENTS = 20;
const MIB = 1024 * 1024;
const UPLOAD_BYTES = 64 * MIB;
const DOWNLOAD_BYTES = 256 * MIB;
const SAMPLE_MS = 100;
/** What all processes of the gateway together may grow by, in MB. */
const AIM_MB = 64;

const MODELS = { part: 'parts-1', json: 'json-1' };

/**
 * Sends its one file on as a part or inside JSON, has its result at once, and fetches it from the
 * vendor.
 */
const source = `
export const meta = {
  apiVersion: 1, key: 'transfers', name: 'Transfers', version: '1.0.0', author: { name: 'Bench' },
  description: 'Moves files', models: ['${MODELS.part}', '${MODELS.json}'], fetchMode: 'per_task', protocols: ['proto_video'],
};
function decodeRequest(ctx) {
  return { kind: 'submit', model: ctx.model, requestBody: { sha256: ctx.body.fields.sha256[0] } };
}
export const protocols = { proto_video: { decodeRequest, render: () => ({}) } };
export function buildSubmitRequest(ctx) {
  const { ref } = ctx.files[0];
  const request = { url: ctx.baseUrl + '/jobs', headers: { 'X-File-Sha256': ctx.requestBody.sha256 } };
  if (ctx.model === '${MODELS.part}') return { ...request, bodyType: 'multipart', parts: [{ name: 'file', fileRef: ref }] };
  request.headers['Content-Type'] = 'application/json';
  return { ...request, body: { file: { __fileRef: ref, encoding: 'base64' } } };
}
export function parseSubmitResponse(ctx, response) {
  return { taskId: response.body.id, taskData: response.body, immediate: { status: 'SUCCESS' } };
}
export const buildQueryRequest = (ctx) => ({ url: ctx.baseUrl + '/jobs/' + ctx.taskId });
export const parseTaskResult = () => ({ status: 'SUCCESS' });
export const listArtifacts = () => [{ key: 'video', type: 'video' }];
export const buildContentRequest = (ctx) => ({ url: ctx.baseUrl + '/content', method: ctx.clientRequest.method });
`;

/**
 * What 20 clients at once cost the gateway in memory, each with an upload of 64 MB and a download
 * of 256 MB; every byte is checked.
 */
export async function benchTransfers({ build }: Run): Promise<Figure[]> {
  const vendor = await startVendor();
  const gateway = await startBuild(build);
  try {
    const admin = await setUp(gateway);
    await admin.call('POST', '/api/plugin/task', { source });
    await admin.createChannel(vendor.url, { task_plugin_key: 'transfers', models: Object.values(MODELS) });
    const access = { url: gateway.url, key: await admin.createKey() };
    // Once through everything that first requests load and start, sandbox processes and connections
    // included.
    const warmUp = async (client: number) => {
      await upload(access, { model: MODELS.json, client, size: MIB });
      await download(access, await upload(access, { model: MODELS.part, client, size: MIB }), MIB);
    };
    for (let round = 0; round < 3; round += 1) await eachClient(warmUp);

    const rows: Figure[] = [];
    let tasks: string[] = [];
    for (const [how, model] of Object.entries(MODELS)) {
      rows.push(
        ...(await measure(
          gateway.pid,
          { what: `${CLIENTS} uploads of 64 MB, as ${how}`, bytesEach: UPLOAD_BYTES },
          async (client) => {
            tasks[client] = await upload(access, { model, client, size: UPLOAD_BYTES });
          },
        )),
      );
    }
    rows.push(
      ...(await measure(gateway.pid, { what: `${CLIENTS} downloads of 256 MB`, bytesEach: DOWNLOAD_BYTES }, (client) =>
        download(access, tasks[client] ?? ''),
      )),
    );
    tasks = [];
    rows.push(
      ...(await measure(
        gateway.pid,
        { what: `${CLIENTS} uploads and downloads side by side`, bytesEach: UPLOAD_BYTES + DOWNLOAD_BYTES },
        async (client) => {
          const id = await upload(access, { model: MODELS.part, client, size: UPLOAD_BYTES });
          await download(access, id);
        },
      )),
    );
    if (vendor.wrong.length > 0) throw new Error(vendor.wrong.join('\n'));
    return rows;
  } finally {
    await gateway.stop();
    vendor.stop();
  }
}

async function measure(
  pid: number,
  { what, bytesEach }: { what: string; bytesEach: number },
  work: (client: number) => Promise<void>,
): Promise<Figure[]> {
  const idle = readMemory(pid).rssMb;
  let peak = idle;
  const sampling = setInterval(() => {
    peak = Math.max(peak, readMemory(pid).rssMb);
  }, SAMPLE_MS);
  const begun = performance.now();
  try {
    await eachClient(work);
  } finally {
    clearInterval(sampling);
  }
  const mbPerSecond = (CLIENTS * bytesEach) / 1e6 / ((performance.now() - begun) / 1000);
  const growth = peak - idle;
  return row(
    what,
    [lower('growth of RSS', growth, 'MB'), note('RSS before', idle, 'MB'), higher('speed', mbPerSecond, 'MB/s')],
    { 'growth of RSS': AIM_MB },
  );
}

const eachClient = (work: (client: number) => Promise<void>) =>
  Promise.all(Array.from({ length: CLIENTS }, (_, client) => work(client)));

/** The bytes of one client's file: blocks of a mebibyte that no other client has. */
function* listBlocks(client: number, size: number): Generator<Buffer> {
  for (let at = 0; at < size; at += MIB)
    yield Buffer.alloc(MIB, createHash('sha512').update(`${client}:${at}`).digest());
}

function sha256(blocks: Iterable<Buffer>): string {
  const hash = createHash('sha256');
  for (const block of blocks) hash.update(block);
  return hash.digest('hex');
}

/** Where a client sends its requests, and the API key that it uses. */
type Access = { url: string; key: string };

/** Sends a client's form. Returns the id of the task. */
async function upload(
  at: Access,
  { model, client, size }: { model: string; client: number; size: number },
): Promise<string> {
  const field = (name: string, value: string) =>
    `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const head = Buffer.from(
    `${field('model', model)}${field('sha256', sha256(listBlocks(client, size)))}--b\r\nContent-Disposition: form-data; name="file"; filename="f.bin"\r\nContent-Type: video/mp4\r\n\r\n`,
  );
  const tail = Buffer.from('\r\n--b--\r\n');
  const outgoing = request(`${at.url}/v1/videos`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${at.key}`,
      'content-type': 'multipart/form-data; boundary=b',
      'content-length': head.length + size + tail.length,
    },
  });
  const answered = Promise.withResolvers<IncomingMessage>();
  outgoing.on('response', answered.resolve).on('error', answered.reject);
  outgoing.write(head);
  for (const block of listBlocks(client, size)) {
    if (!outgoing.write(block)) await new Promise((resolve) => outgoing.once('drain', resolve));
  }
  outgoing.end(tail);
  const answer = await answered.promise;
  let text = '';
  for await (const chunk of answer) text += String(chunk);
  if (answer.statusCode !== 200) throw new Error(`an upload was answered ${answer.statusCode}: ${text}`);
  return String((JSON.parse(text) as { id: string }).id);
}

const content = Buffer.alloc(MIB, createHash('sha512').update('content').digest());

async function download({ url, key }: Access, id: string, size = DOWNLOAD_BYTES): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, range: `bytes=0-${size - 1}` };
  const response = await fetch(`${url}/v1/videos/${id}/content`, { headers });
  if (!response.ok || !response.body) throw new Error(`a download was answered ${response.status}`);
  const hash = createHash('sha256');
  for await (const chunk of response.body) hash.update(chunk);
  const expected = sha256(Array(size / MIB).fill(content));
  if (hash.digest('hex') !== expected) throw new Error('a download gave other bytes than the vendor has');
}

type Vendor = { url: string; wrong: string[]; stop(): void };

/** Hashes the file in what it gets, however it comes, and serves content. */
async function startVendor(): Promise<Vendor> {
  const wrong: string[] = [];
  const server: Server = createServer((incoming, response) => {
    if (incoming.method === 'POST') void takeJob(incoming, response, wrong);
    else void sendContent(incoming, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    wrong,
    stop: () => void server.close().closeAllConnections(),
  };
}

let jobs = 0;

async function takeJob(incoming: IncomingMessage, response: ServerResponse, wrong: string[]): Promise<void> {
  const isJson = incoming.headers['content-type'] === 'application/json';
  const boundary = /boundary=(.*)/.exec(incoming.headers['content-type'] ?? '')?.[1] ?? '';
  const tail = isJson ? '"}' : `\r\n--${boundary}--\r\n`;
  const opening = isJson ? '{"file":"' : '\r\n\r\n';
  let left = Number(incoming.headers['content-length']) - tail.length;
  let head: Buffer | undefined = Buffer.alloc(0);
  let rest = '';
  const hash = createHash('sha256');
  for await (let chunk of incoming as AsyncIterable<Buffer>) {
    if (head) {
      head = Buffer.concat([head, chunk]);
      const at = head.indexOf(opening);
      if (at === -1) continue;
      chunk = head.subarray(at + opening.length);
      left -= at + opening.length;
      head = undefined;
    }
    const bytes = chunk.subarray(0, Math.max(0, left));
    left -= bytes.length;
    if (!isJson) {
      hash.update(bytes);
      continue;
    }
    const text = rest + bytes.toString('latin1');
    const whole = text.length - (text.length % 4);
    hash.update(text.slice(0, whole), 'base64');
    rest = text.slice(whole);
  }
  const digest = hash.digest('hex');
  if (digest !== incoming.headers['x-file-sha256'] || left !== 0 || rest !== '')
    wrong.push('a file reached the vendor changed');
  jobs += 1;
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ id: `job-${jobs}` }));
}

async function sendContent(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const size = Number(/^bytes=0-(\d+)$/.exec(incoming.headers.range ?? '')?.[1]) + 1;
  response.writeHead(206, {
    'content-type': 'video/mp4',
    'content-length': size,
    'content-range': `bytes 0-${size - 1}/${DOWNLOAD_BYTES}`,
  });
  const closed = new Promise<void>((resolve) => response.once('close', () => resolve()));
  for (let sent = 0; sent < size && !response.destroyed; sent += MIB) {
    if (!response.write(content)) {
      await Promise.race([closed, new Promise<void>((resolve) => response.once('drain', () => resolve()))]);
    }
  }
  response.end();
}
