/**
 * A gateway of 100,000 tasks, 1,000 users, 500 keys and 500 channels: how quickly every list,
 * filter and chart of the panel answers, and what an export takes.
 */
import { afterAll, beforeAll, expect } from 'bun:test';
import { readFileSync } from 'node:fs';
import { fillLargeGateway, LARGE } from '../../support/fill-large-gateway.ts';
import { IS_FULL_RUN, testInFullRun } from '../../support/full-run.ts';
import {
  type Administrator,
  type Gateway,
  setUp,
  startGateway,
  startVendor,
  type VendorProcess,
} from '../../support/gateway.ts';
import { quietMs } from '../../support/quiet-time.ts';
import { until } from '../../support/until.ts';

const LIMIT_MS = 150;

let gateway: Gateway;
let vendor: VendorProcess;
let root: Administrator;

beforeAll(async () => {
  if (!IS_FULL_RUN) return;
  [gateway, vendor] = await Promise.all([startGateway({ env: { GLOBAL_API_RATE_LIMIT: '100000' } }), startVendor()]);
  root = await setUp(gateway);
  await fillLargeGateway(gateway, root, vendor);
});
afterAll(async () => {
  await gateway?.stop();
  await vendor?.stop();
});

const now = Math.floor(Date.now() / 1000);
const dayAgo = (days: number): string => new Date((now - days * 86_400) * 1000).toISOString().slice(0, 10);

const paths = [
  // Home.
  ...['/api/stats?scope=all&days=30', '/api/stats?days=90', '/api/attention', '/api/user/self', '/api/status'],
  // Tasks and the gallery.
  ...['', '&page=1000', '&status=SUCCESS', '&status=FAILURE', '&user_id=77', '&api_key_id=77', '&channel_id=77'].map(
    (filter) => `/api/task?scope=all&page_size=100${filter}`,
  ),
  ...['&model=demo-video', '&platform=demo', `&since=${now - 7 * 86_400}`, '&sort=cost', '&sort=duration'].map(
    (filter) => `/api/task?scope=all&page_size=100${filter}`,
  ),
  ...['&sort=oldest', '&q=boat', '&q=nothing', '&fail_reason=none', '&user_id=77&q=boat'].map(
    (filter) => `/api/task?scope=all&page_size=100${filter}`,
  ),
  ...['/api/task', '/api/task?q=boat', '/api/task/failures?scope=all', '/api/task/failures?scope=all&q=lost'],
  ...['/api/task/feed?scope=all&limit=100', '/api/task/feed?scope=all&limit=100&q=zebra'],
  // Usage.
  ...['model', 'key', 'user', 'channel'].flatMap((by) =>
    [6, 29, 89].map((days) => `/api/usage?scope=all&by=${by}&from=${dayAgo(days)}&zone=Asia/Kolkata`),
  ),
  ...[`/api/usage?user=77&by=key&from=${dayAgo(29)}`, `/api/usage?by=model&from=${dayAgo(29)}`],
  ...['', '&page=1000', '&user=77', '&api_key=77', '&channel=77', '&model=model-7', '&plugin=demo'].map(
    (filter) => `/api/log?page_size=100&since=${now - 60 * 86_400}${filter}`,
  ),
  // Users, keys, channels and the audit log.
  ...['/api/user', '/api/user?page=10&page_size=100', '/api/user?keyword=user-9', '/api/user?sort_by=quota'],
  ...['/api/user/77', '/api/user/77/keys', '/api/user/77/ledger', '/api/user/names?keyword=9', '/api/token'],
  ...['/api/token/names?scope=all&keyword=9', '/api/token/names?scope=all&keyword=user-9', '/api/channel/names'],
  ...['/api/channel?page_size=100', '/api/channel?page=5&page_size=100', '/api/channel/1', '/api/channel/choices'],
  ...['/api/channel/77/history?hours=24', '/api/channel/77/history?hours=168'],
  ...['', '&page=100', '&user=user-77', '&action=channel', '&target=channel:77', '&user=nobody'].map(
    (filter) => `/api/audit?page_size=100${filter}`,
  ),
  // The rest of the panel.
  ...['/api/model', '/api/model/catalog', '/api/model/results', '/api/price', '/api/price/missing'],
  ...['/api/node', '/api/option'],
  ...['/api/node/history?hours=24', '/api/node/history?hours=336', '/api/plugin/task', '/api/backup'],
  '/api/user/self/views',
];

testInFullRun('every list, filter and chart answers within 150 ms', async () => {
  const ask = async (path: string): Promise<void> => {
    const response = await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${root.token}` } });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`${path} was answered ${response.status}`);
  };
  // Figures of days are added up when they are first asked for.
  await until('the figures are added up', async () => {
    const began = performance.now();
    await ask(`/api/usage?scope=all&by=user&from=${dayAgo(89)}`);
    return performance.now() - began < 2000;
  });
  const times: [path: string, ms: number][] = [];
  for (const path of paths) {
    times.push([path, Math.round(await quietMs(() => ask(path), { limitMs: LIMIT_MS }))]);
  }
  times.sort(([, a], [, b]) => b - a);
  expect(times.filter(([, ms]) => ms >= LIMIT_MS)).toEqual([]);
});

const residentMb = (): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${gateway.pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;

testInFullRun.each([
  ['tasks', '/api/task/export?scope=all&format=jsonl', LARGE.tasks],
  ['tasks of a filter', '/api/task/export?scope=all&status=FAILURE&format=csv', LARGE.tasks / 2 + 1],
  ['usage', '/api/log/export?format=csv', LARGE.tasks],
  ['the audit log', '/api/audit/export?format=jsonl&action=channel.update', LARGE.audit / 3],
  ['users', '/api/user/export?format=csv', LARGE.users + 1],
])('an export of %s is streamed: its memory does not grow with its rows', async (_, path, rows) => {
  // In the first tenth the runtime's heap grows to what it takes before it collects garbage.
  let [early, later, lines] = [residentMb(), 0, 0];
  const response = await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${root.token}` } });
  expect(response.status).toBe(200);
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    for (const byte of chunk) if (byte === 10) lines += 1;
    if (lines < rows / 10) early = Math.max(early, residentMb());
    else later = Math.max(later, residentMb());
  }
  expect(lines).toBeGreaterThanOrEqual(Math.floor(rows));
  expect(later - early).toBeLessThan(80);
});
