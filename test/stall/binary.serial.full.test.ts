/**
 * The executable under the worst inputs of its parsers: its own histogram of event-loop lag must
 * stay low.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { MAX_SOURCE_BYTES } from '../../src/plugins/source/check-source.ts';
import { type Administrator, ask, type Gateway, setUp, startGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';
import { fill } from './measure-block.ts';

const KIB = 1024;
/** A busy machine also delays a process; a stall of the gateway itself shows at every attempt. */
const ATTEMPTS = 5;
/** About six samples of the lag timer. */
const SETTLE_LOOKS = 6;

let gateway: Gateway;
let admin: Administrator;

beforeAll(async () => {
  gateway = await startGateway();
  admin = await setUp(gateway);
});
afterAll(async () => {
  await gateway.stop();
});

/** Samples of the lag timer so far: all, and those above 50 ms. */
async function readLag(): Promise<{ all: number; long: number }> {
  const text = String((await ask(`${gateway.url}/metrics`)).body.text);
  const value = (name: string) =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(name))
        ?.split(' ')[1],
    );
  const all = value('taskgate_event_loop_lag_seconds_count');
  return { all, long: all - value('taskgate_event_loop_lag_seconds_bucket{le="0.05"}') };
}

test('every cache that input from outside can grow reports its size', async () => {
  const text = String((await ask(`${gateway.url}/metrics`)).body.text);
  const sizes = [...text.matchAll(/taskgate_cache_entries\{cache="(\w+)"\} (\d+)/g)];
  const caches = [
    ...['counters', 'success_lists', 'verified_tokens', 'discovery_documents', 'sandbox_kills', 'sandbox_call_times'],
    ...['price_expressions', 'service_account_tokens', 'marketplace_listings', 'figures', 'downloads_by_link'],
    ...['slowed_addresses', 'repeated_answers', 'sandbox_results', 'rendered_videos', 'resolved_links'],
    ...['client_addresses', 'deciding_addresses', 'guarded_hosts', 'request_hosts', 'small_results', 'verified_links'],
  ];
  expect(sizes.map(([, cache]) => cache).sort()).toEqual(caches.sort());
  for (const [, , entries] of sizes) expect(Number(entries)).toBeLessThanOrEqual(100_000);
});

/** Sends requests at once. Resolves with the status of the first when the connection is closed. */
const pipeline = (requests: string): Promise<{ status: number }> =>
  new Promise((resolve, reject) => {
    const socket = connect(gateway.port, '127.0.0.1', () => void socket.write(requests));
    let answers = '';
    socket.on('data', (data) => {
      answers += data;
    });
    // The gateway closes while requests are still on their way, which may reset the connection.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      const status = /^HTTP\/1\.1 (\d+)/.exec(answers)?.[1];
      if (status === undefined) reject(new Error('no request was answered'));
      else resolve({ status: Number(status) });
    });
  });

const post = (path: string, body: unknown) => () => ask(`${gateway.url}${path}`, { token: admin.token, body });
const svg = Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg">${fill('<g/>', 500 * KIB)}</svg>`).toString('base64');
const channel = { name: 'a', type: 1, key: 'k', models: ['m'] };

test.each([
  ['a plugin of statements', () => post('/api/plugin/task', { source: fill(';', MAX_SOURCE_BYTES) })],
  [
    'a plugin of members',
    () => post('/api/plugin/task', { source: fill('a:{},', MAX_SOURCE_BYTES, { before: 'x={', after: '}' }) }),
  ],
  [
    'a plugin with an icon of elements',
    () => post('/api/plugin/task', { source: 'export const meta = {}', icon: `data:image/svg+xml;base64,${svg}` }),
  ],
  [
    'a base URL of slashes',
    () => post('/api/channel', { ...channel, base_url: fill('/', 60 * KIB, { before: 'http://a', after: 'b' }) }),
  ],
  [
    'forwarded addresses',
    () => () =>
      ask(`${gateway.url}/api/user/self`, {
        token: admin.token,
        headers: { 'x-forwarded-for': fill('10.0.0.1,', 12 * KIB) },
      }),
  ],
  ['requests of one connection', () => () => pipeline(fill('GET /api/status HTTP/1.1\r\nHost: a\r\n\r\n', 500 * KIB))],
])('%s: no answer is a 5xx, and the loop is not held', async (_name, make) => {
  const send = make();
  let long = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < ATTEMPTS && long > 0; attempt += 1) {
    const before = await readLag();
    expect((await send()).status).toBeLessThan(500);
    const after = await until('the timer has looked', async () => {
      const lag = await readLag();
      return lag.all >= before.all + SETTLE_LOOKS ? lag : undefined;
    });
    long = after.long - before.long;
  }
  expect(long).toBe(0);
});
