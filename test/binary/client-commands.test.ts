/** `taskgate run` and its companions, against the executable with the demo vendor. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Gateway, setUp, startGateway, startVendor } from '../support/gateway.ts';
import { runCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

let gateway: Gateway;
let vendor: Awaited<ReturnType<typeof startVendor>>;
let key: string;
const home = temporaryFolder();
beforeAll(async () => {
  vendor = await startVendor();
  gateway = await startGateway({ env: { TASK_POLL_INTERVAL_SECONDS: '1' } });
  const admin = await setUp(gateway);
  await admin.createChannel(vendor.url);
  await admin.call('PUT', '/api/price', { plugin_key: 'demo', model: 'demo-video', expression: '0.02 * u("seconds")' });
  key = await admin.createKey();
}, 60_000);
afterAll(() => Promise.all([gateway.stop(), vendor.stop()]));

const run = (argv: string[], options: { stdin?: string; env?: Record<string, string> } = {}) =>
  runCommand(argv, { ...options, env: { HOME: home, XDG_CONFIG_HOME: home, ...options.env } });

test('without a gateway, a command says what to do', async () => {
  const { code, err } = await run(['models']);
  expect([code, err]).toEqual([1, expect.stringContaining('taskgate login URL')]);
});

test('a login tries the key, and only its owner may read it', async () => {
  expect((await run(['login', gateway.url, '--key-stdin'], { stdin: 'sk-wrong' })).code).toBe(1);
  const { code, out } = await run(['login', gateway.url, '--key-stdin'], { stdin: `${key}\n` });
  expect([code, out]).toEqual([0, expect.stringContaining('offers 2 models')]);
  expect(statSync(join(home, 'taskgate/client.json')).mode & 0o777).toBe(0o600);
  expect((await run(['models'])).out).toContain('demo-video  openai-video');
});

test('credential theft: the key is not sent to another gateway than its own', async () => {
  const { code, err } = await run(['models'], { env: { TASKGATE_URL: 'http://127.0.0.1:9' } });
  expect([code, err]).toEqual([1, expect.stringContaining('no API key for http://127.0.0.1:9')]);
});

test('a model is run, followed and downloaded', async () => {
  const folder = join(home, 'out');
  const order = ['run', 'demo-video', '--prompt', 'a boat [duration=0.3]', '--seconds', '4', '--out', folder];
  const { code, out, err } = await run([...order, '--json']);
  const task = JSON.parse(out) as { id: string; status: string; files: string[]; cost: { charged: number } };
  expect([code, task.status, task.cost.charged]).toEqual([0, 'SUCCESS', 0.08]);
  expect(err).toContain(`${task.id} success 100%`);
  expect(readdirSync(folder)).toEqual([`${task.id}-video.mp4`]);
  expect(readFileSync(task.files[0] ?? '').length).toBeGreaterThan(100);
  expect((await run(['tasks'])).out).toContain(task.id);
  expect((await run(['get', task.id])).out).toBe(`${task.id} SUCCESS\n`);
});

test('a refusal is told in the gateway’s words', async () => {
  const { code, err } = await run(['run', 'demo-video', '--seconds', '4']);
  expect([code, err]).toEqual([1, expect.stringContaining('Please give a prompt.')]);
  expect((await run(['run', 'nobody-1', '--prompt', 'x'])).err).toContain('nobody-1');
});
