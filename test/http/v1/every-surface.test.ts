/** What holds on every surface: what reports of vendors cost, and that `store: false` is heeded. */
import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { pluginSource } from '../../plugins/support.ts';
import { type ChatVendor, startChatVendor } from '../../support/chat-vendor.ts';
import { testInFullRun } from '../../support/full-run.ts';
import { type Administrator, ask, type Gateway, letNothingWait, setUp, startGateway } from '../../support/gateway.ts';
import { until } from '../../support/until.ts';

/** A plugin that reports `units` as its vendor does; the price is a cent for each. */
const HOOKS = `
export const protocols = { proto_video: {
  decodeRequest: ({ model, body }) => ({ kind: 'submit', model, requestBody: body.value }),
  render: () => ({}),
} };
export const extractUsage = ({ requestBody }) => ({ units: requestBody.asked });
export const extractUsageOnComplete = (ctx, result, body) => body.told === undefined ? null : ({ units: body.told });
export const listArtifacts = ({ data }) => [{ key: 'it', type: data.makes || 'video', mimeType: data.mime }];
export const buildContentRequest = (ctx) => ({ url: ctx.baseUrl + '/file' });`;
const source = (key: string, models: string[], more: string) =>
  pluginSource(
    {
      key,
      models,
      ...(more ? { protocols: ['proto_video'] } : {}),
      usageSchema: { units: { type: 'number', unit: 'count' } },
    },
    more || HOOKS.replace(/export const protocols[\s\S]*?\n\} \};/, ''),
  )
    .replace('return { taskId: response.body.id };', 'return { taskId: response.body.id, taskData: response.body };')
    .replace('return { status: body.status };', "return { status: body.status, reason: 'the vendor gave up' };");

/** `told`: the units that the vendor reports. */
type Poll = { status: string; told?: number };
let gateway: Gateway;
let admin: Administrator;
let chats: ChatVendor;
let vendor: ReturnType<typeof Bun.serve>;
beforeAll(async () => {
  const jobs = new Map<string, Poll[]>();
  vendor = Bun.serve({
    // A connection that it closes at the moment of a submission would leave that in doubt.
    ...{ port: 0, hostname: '127.0.0.1', idleTimeout: 0 },
    async fetch(request) {
      const { pathname } = new URL(request.url);
      if (pathname === '/file') return new Response('bytes');
      if (request.method === 'POST') {
        const { polls, makes, mime } = (await request.json()) as { polls: Poll[]; makes?: string; mime?: string };
        const id = `job-${crypto.randomUUID()}`;
        jobs.set(`/jobs/${id}`, [...polls]);
        return Response.json({ id, makes, mime });
      }
      const polls = jobs.get(pathname) ?? [];
      return Response.json(polls.length > 1 ? polls.shift() : polls[0]);
    },
  });
  // One user sends all orders of a surface at once.
  const env = { TASK_POLL_INTERVAL_SECONDS: '1', TASK_PLUGIN_PROTOCOL_USER_CONCURRENCY: '20' };
  [chats, gateway] = await Promise.all([startChatVendor(), startGateway({ env })]);
  admin = await setUp(gateway);
  await letNothingWait(admin);
  for (const [key, model, hooks] of [
    ['films', 'film-1', HOOKS],
    ['things', 'thing-1', ''],
  ] as const) {
    await admin.call('POST', '/api/plugin/task', { source: source(key, [model], hooks) });
    await admin.createChannel(vendor.url.origin, { models: [model], task_plugin_key: key });
    await admin.call('PUT', '/api/price', { plugin_key: key, model, expression: '0.01 * u("units")' });
  }
  const prices = {
    'draw-x': '0.01 * u("images")',
    'speak-x': '0.01 * u("output_tokens")',
    'listen-x': '0.01 * u("seconds")',
  };
  await admin.createChannel(chats.url, {
    ...{ type: 1, name: 'relay', key: chats.key, models: Object.keys(prices), task_plugin_key: undefined },
    settings: { default_max_tokens: 50 },
  });
  for (const [model, expression] of Object.entries(prices))
    await admin.call('PUT', '/api/price', { plugin_key: '*', model, expression });
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all([chats.stop(), vendor.stop(true)]);
});

const post = (path: string, token: string, body: object) => ask(`${gateway.url}${path}`, { token, body });
/** What the key has been charged in cents, once nothing of it is open. */
async function charged(token: string): Promise<number> {
  const read = async (path: string) => (await ask(`${gateway.url}${path}`, { method: 'GET', token })).body;
  await until('its tasks have ended', async () => {
    const { data } = (await read('/v1/tasks?limit=100')) as { data: { status: string }[] };
    return data.every(({ status }) => status === 'SUCCESS' || status === 'FAILURE');
  });
  return Math.round(100 * ((await read('/v1/usage')).usd as number));
}

type Order = { asked: number; polls: Poll[]; prompt?: string; store?: false };
/** Each surface that orders from plugins. */
const SURFACES: Record<string, (token: string, order: Order) => Promise<unknown>> = {
  videos: (token, order) => post('/v1/videos', token, { model: 'film-1', ...order }),
  'flat videos': (token, order) => post('/v1/video/generations', token, { model: 'film-1', ...order }),
  images: (token, order) => post('/v1/images/generations', token, { model: 'thing-1', makes: 'image', ...order }),
  'images in the background': (token, order) =>
    post('/v1/images/generations', token, { model: 'thing-1', makes: 'image', background: true, ...order }),
  speech: (token, order) => post('/v1/audio/speech', token, { model: 'thing-1', input: 'x', makes: 'audio', ...order }),
  batches: async (token, order) => {
    const requests = [{ plugin: 'films', body: { model: 'film-1', ...order } }];
    const { id } = (await post('/v1/batches', token, { requests })).body;
    await until('the batch has ended', async () => {
      const { body } = await ask(`${gateway.url}/v1/batches/${id}`, { method: 'GET', token });
      return ['completed', 'failed'].includes(String(body.status));
    });
  },
  MCP: (token, order) =>
    fetch(`${gateway.url}/mcp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({
        ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
        params: { name: 'create_video', arguments: { model: 'film-1', ...order } },
      }),
    }),
};
const DONE = 'SUCCESS';
const FAULTS: [fault: string, polls: Poll[], cents: number][] = [
  ['a report is charged, not the estimate', [{ status: DONE, told: 4 }], 4],
  [
    'a zero after the count does not replace it',
    [
      { status: 'IN_PROGRESS', told: 4 },
      { status: DONE, told: 0 },
    ],
    4,
  ],
  ['no report at the end leaves the one before', [{ status: 'IN_PROGRESS', told: 4 }, { status: DONE }], 4],
  ['a report beyond what was asked charges the reservation', [{ status: DONE, told: 1e12 }], 3],
  ['a failure costs nothing, whatever was reported', [{ status: 'IN_PROGRESS', told: 4 }, { status: 'FAILURE' }], 0],
];

test.each(Object.keys(SURFACES))('reports of plugins cost what they may: %s', async (surface) => {
  const seen = await Promise.all(
    FAULTS.map(async ([fault, polls]) => {
      const token = await admin.createKey({ name: fault.slice(0, 40) });
      const answer = await SURFACES[surface]?.(token, { asked: 3, polls });
      return { fault, cents: await charged(token), answer };
    }),
  );
  expect(
    seen.map(({ fault, cents }) => [fault, cents]),
    JSON.stringify(seen, null, 2),
  ).toEqual(FAULTS.map(([fault, _, cents]) => [fault, cents]));
});

/** Every text of the database that has the marker, by its table and column. */
function findStored(marker: string): string[] {
  const database = new Database(join(gateway.dataDir, 'taskgate.db'), { readonly: true });
  try {
    const tables = database.query("select name from sqlite_master where type = 'table'").all() as { name: string }[];
    return tables.flatMap(({ name: table }) => {
      const columns = database.query(`select name from pragma_table_info('${table}')`).all() as { name: string }[];
      return columns.flatMap(({ name }) =>
        database.query(`select 1 from "${table}" where cast("${name}" as text) like ? limit 1`).get(`%${marker}%`)
          ? [`${table}.${name}`]
          : [],
      );
    });
  } finally {
    database.close();
  }
}

for (const surface of Object.keys(SURFACES))
  testInFullRun(`nothing is stored of a request that says so, or whose key does: ${surface}`, async () => {
    const order = { asked: 3, polls: [{ status: DONE, told: 3 }] };
    const [spoken = '', silent = '', plain = ''] = ['spoken', 'silent', 'plain'].map(
      (word) => `${word}-${crypto.randomUUID()}`,
    );
    const requests: [key: Record<string, unknown>, body: { prompt: string; store?: false }][] = [
      [{}, { prompt: spoken, store: false }],
      [{ store: false }, { prompt: silent }],
      [{}, { prompt: plain }],
    ];
    for (const [key, body] of requests) {
      const token = await admin.createKey(key);
      await SURFACES[surface]?.(token, { ...order, ...body });
      expect(await charged(token)).toBe(3);
    }
    expect([spoken, silent].map(findStored)).toEqual([[], []]);
    // A request that may be stored is found, so the search would have found the others.
    expect(findStored(plain)).not.toEqual([]);
    expect([spoken, silent].some((marker) => gateway.log().includes(marker))).toBe(false);
  });

const IMAGE = { b64_json: 'aGk=' };
const event = (data: { type: string; [member: string]: unknown }) =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
const made = (usage: object) => event({ type: 'image_generation.completed', ...IMAGE, usage });
const spoken = (usage: object) => event({ type: 'speech.audio.done', usage });
const draw = (more: object = {}) => ({
  path: '/v1/images/generations',
  body: { model: 'draw-x', prompt: 'x', n: 3, ...more },
});
const edit = { path: '/v1/images/edits', body: { model: 'draw-x', prompt: 'x', image: 'data:,x', n: 3 } };
const speak = { path: '/v1/audio/speech', body: { model: 'speak-x', input: 'x', stream_format: 'sse' } };
const listen = { path: '/v1/audio/transcriptions', form: { model: 'listen-x', response_format: 'json' } };

type Sent = { path: string; body?: object; form?: Record<string, string> };
const RELAYED: [fault: string, sent: Sent, answer: unknown, type: string | undefined, cents: number][] = [
  ['images: none', draw(), { data: [] }, undefined, 0],
  ['images: a list of null', edit, { data: [null] }, undefined, 0],
  ['images: an error as success', edit, { error: { message: 'no' }, images: 3 }, undefined, 0],
  ['images: fewer than asked', draw(), { data: [IMAGE] }, undefined, 1],
  ['images: counted twice', edit, { data: [IMAGE, IMAGE], usage: { generated_images: 2 } }, undefined, 2],
  ['images: zero beside them', draw(), { data: [IMAGE], usage: { generated_images: 0 } }, undefined, 1],
  ['images: beyond all bounds', draw(), { data: [IMAGE], usage: { generated_images: 1e12 } }, undefined, 3],
  ['images: in the background', draw({ background: true }), { data: [IMAGE] }, undefined, 1],
  ['images: none in the background', draw({ background: true }), { data: [] }, undefined, 0],
  ['images: a larger count under another name', draw({ n: 1, batch_size: 3 }), { data: [IMAGE, IMAGE] }, undefined, 2],
  ['images: events', draw({ stream: true }), made({}) + made({}), 'text/event-stream', 2],
  ['images: events without label', draw({ stream: true }), made({}), 'text/plain', 1],
  ['images: events that nobody asked for', draw(), made({}) + made({}), 'text/event-stream', 2],
  ['speech: two names', speak, spoken({ output_tokens: 0, completion_tokens: 7 }), 'text/event-stream', 7],
  ['speech: a zero after', speak, spoken({ output_tokens: 7 }) + spoken({ output_tokens: 0 }), 'text/event-stream', 7],
  ['speech: counts as text', speak, spoken({ output_tokens: '7' }), 'text/event-stream', 7],
  ['speech: no line end', speak, spoken({ output_tokens: 7 }).trimEnd(), 'text/event-stream', 7],
  ['speech: a byte-order mark', speak, `\uFEFF${spoken({ output_tokens: 7 })}`, 'text/event-stream', 7],
  ['transcription: two names', listen, { text: 'hi', duration: 0, usage: { seconds: 7 } }, undefined, 7],
  ['transcription: an error as success', listen, { error: { message: 'no' } }, undefined, 0],
];

test('relayed images and audio', async () => {
  const seen: [string, number][] = [];
  for (const [fault, { path, body, form }, answer, type] of RELAYED) {
    const token = await admin.createKey({ name: fault.slice(0, 40) });
    chats.answerNext(typeof answer === 'string' ? answer : JSON.stringify(answer), type);
    const data = new FormData();
    for (const [name, value] of Object.entries(form ?? {})) data.set(name, value);
    if (form) data.set('file', new File([new Uint8Array(9)], 'a.mp3'));
    const response = await fetch(`${gateway.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, ...(form ? {} : { 'content-type': 'application/json' }) },
      body: form ? data : JSON.stringify(body),
    });
    const { id } = response.status === 202 ? ((await response.json()) as { id: string }) : {};
    if (id) await ask(`${gateway.url}/v1/tasks/${id}?wait=60`, { method: 'GET', token });
    else await response.arrayBuffer();
    seen.push([fault, await charged(token)]);
  }
  expect(seen).toEqual(RELAYED.map(([fault, , , , cents]) => [fault, cents]));
});
