/** The blocks of docs/operating/monitoring.md, word for word: the log file, traces and exports. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Administrator, ask, type Gateway, setUp, startGateway, startVendor } from '../support/gateway.ts';
import { readBlocks } from '../support/guide-terminal.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { startCollector, type TraceCollector } from '../support/trace-collector.ts';
import { until } from '../support/until.ts';

const guide = readFileSync(new URL('../../docs/operating/monitoring.md', import.meta.url), 'utf8');
const blockFor = (language: string) =>
  new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(guide)?.[1] ?? '';
const folder = temporaryFolder();
const logFile = join(folder, 'gate.log');

let collector: TraceCollector;
let vendor: Awaited<ReturnType<typeof startVendor>>;
let gateway: Gateway;
let root: Administrator;

beforeAll(async () => {
  collector = await startCollector();
  vendor = await startVendor();
  const settings = blockFor('sh').replaceAll('/var/log/taskgate', folder);
  const traces = blockFor('bash').replaceAll('http://127.0.0.1:4318', collector.url);
  // A shell whose variables the gateway gets, as with an environment file and a profile.
  const script = `set -a\n${settings}\nset +a\n${traces}\nexec "$@"`;
  gateway = await startGateway({ prefix: ['bash', '-euc', script, 'bash'] });
  root = await setUp(gateway);
  await root.createChannel(vendor.url);
});
afterAll(async () => {
  await gateway?.kill();
  await vendor?.stop();
  await collector?.stop();
});

test('no block is left out', () => {
  const languages = [...guide.matchAll(/^```(\w+)$/gm)].map(([, language]) => language);
  expect(languages).toEqual(['yaml', 'sh', 'bash', 'console']);
});

test('the export of a list is one row a task', async () => {
  const key = await root.createKey();
  const { body } = await submit(gateway.url, key, {});
  await waitForEnd(gateway.url, key, String(body.id));
  const { token } = await root.call<{ token: string }>('POST', '/api/user/token');
  const [command] = readBlocks(guide)[0]?.commands ?? [];
  const ran = Bun.spawnSync(['bash', '-euc', command?.line ?? 'exit 9'], {
    ...{ cwd: folder, stderr: 'pipe', env: { PATH: process.env.PATH ?? '', GATE: gateway.url, TOKEN: token } },
  });
  expect([ran.exitCode, ran.stderr.toString()]).toEqual([0, '']);
  const rows = readFileSync(join(folder, 'tasks.jsonl'), 'utf8').trimEnd().split('\n');
  expect(rows.map((row) => JSON.parse(row).task_id)).toEqual([String(body.id)]);
});

test('the log goes to its file, and a share of traces to the collector with its key', async () => {
  // One trace in ten: that none of 300 is recorded will not be seen.
  for (let sent = 0; sent < 300; sent += 1) await ask(`${gateway.url}/api/status`);
  expect(await gateway.stop()).toBe(0);
  await until('spans have come', () => collector.spans.length > 0);
  expect(collector.requests[0]?.headers.authorization).toBe('Bearer the-key-of-the-collector');
  expect(collector.spans.filter(({ name }) => name === 'GET /api/status').length).toBeLessThan(150);
  expect(gateway.log()).toBe('');
  expect(existsSync(logFile) && readFileSync(logFile, 'utf8')).toContain('"stopped"');
});
