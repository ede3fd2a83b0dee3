/** `taskgate run` and its companions, against the executable with the demo vendor. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type ChatVendor, startChatVendor } from '../support/chat-vendor.ts';
import { type Administrator, type Gateway, setUp, signIn, startGateway, startVendor } from '../support/gateway.ts';
import { runCommand } from '../support/run-command.ts';
import { makePng } from '../support/still-images.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

let gateway: Gateway;
let pictures: ChatVendor;
let admin: Administrator;
let vendor: Awaited<ReturnType<typeof startVendor>>;
let key: string;
const home = temporaryFolder();
beforeAll(async () => {
  vendor = await startVendor();
  gateway = await startGateway({ env: { TASK_POLL_INTERVAL_SECONDS: '1' } });
  admin = await setUp(gateway);
  await admin.createChannel(vendor.url);
  await admin.call('PUT', '/api/price', { plugin_key: 'demo', model: 'demo-video', expression: '0.02 * u("seconds")' });
  pictures = await startChatVendor();
  await admin.call('POST', '/api/channel', {
    ...{ name: 'relay', type: 1, key: pictures.key, base_url: pictures.url, models: ['draw-x', 'chat-x'] },
  });
  for (const [model, expression] of [
    ['draw-x', '0.25 * u("images")'],
    ['chat-x', '0.000001 * u("input_tokens")'],
  ])
    await admin.call('PUT', '/api/price', { plugin_key: '*', model, expression });
  key = await admin.createKey();
});
afterAll(() => Promise.all([gateway.stop(), vendor.stop(), pictures.stop()]));

const run = (argv: string[], options: { stdin?: string; env?: Record<string, string> } = {}) =>
  runCommand(argv, { ...options, env: { HOME: home, XDG_CONFIG_HOME: home, ...options.env } });

test('without a gateway, a command says what to do', async () => {
  const { code, err } = await run(['models']);
  expect([code, err]).toEqual([1, expect.stringContaining('taskgate login URL')]);
});

test('a login tries the key, and only its owner may read it', async () => {
  expect((await run(['login', gateway.url, '--key-stdin'], { stdin: 'sk-wrong' })).code).toBe(1);
  const { code, out } = await run(['login', gateway.url, '--key-stdin'], { stdin: `${key}\n` });
  expect([code, out]).toEqual([0, expect.stringContaining('offers 4 models')]);
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

test('pictures of a relayed model are ordered, followed and saved', async () => {
  const photo = makePng();
  const sentKeys: (string | null)[] = [];
  const elsewhere = Bun.serve({
    ...{ hostname: '127.0.0.1', port: 0 },
    fetch({ headers }) {
      sentKeys.push(headers.get('authorization'));
      return new Response('a webp', { headers: { 'content-type': 'image/webp' } });
    },
  });
  const data = [{ b64_json: photo.toString('base64') }, { url: elsewhere.url.href }];
  pictures.answerNext(JSON.stringify({ created: 1, data }));
  const folder = join(home, 'pictures');
  const made = await run(['run', 'draw-x', '--prompt', 'a boat', '--body', '{"n":2}', '--out', folder, '--json']);
  const task = JSON.parse(made.out) as { id: string; files: string[] };
  expect([made.code, task]).toMatchObject([0, { status: 'SUCCESS', cost: { charged: 0.5 } }]);
  expect(task.files).toEqual([join(folder, `${task.id}-image-1.png`), join(folder, `${task.id}-image-2.webp`)]);
  expect(photo.equals(readFileSync(task.files[0] ?? ''))).toBe(true);
  expect(task).not.toHaveProperty('result');
  expect((await run(['tasks'])).out.split('\n')[0]).toContain(task.id);
  const again = await run(['get', task.id, '--out', join(home, 'again')]);
  expect([again.code, again.out]).toEqual([0, expect.stringContaining(`${task.id}-image-2.webp`)]);
  expect((await run(['get', task.id])).out).toBe(`${task.id} SUCCESS\n`);
  await elsewhere.stop(true);
  expect(sentKeys).toEqual([null, null]);
  const { err } = await run(['run', 'chat-x', '--prompt', 'hello']);
  expect(err).toContain('client of OpenAI');
});

test('a relayed task that runs, fails or is another user’s is told of', async () => {
  const running = await run(['run', 'draw-x', '--prompt', 'x', '--body', '{"user":"hang"}', '--json']);
  const { id, status } = JSON.parse(running.out) as { id: string; status: string };
  expect([running.code, status]).toEqual([0, 'IN_PROGRESS']);
  const waiting = run(['get', id, '--wait']);
  await until('the vendor has it', () => pictures.requests.some(({ body }) => body.user === 'hang'));
  pictures.release();
  expect((await waiting).out).toBe(`${id} SUCCESS\n`);
  const failed = await run(['run', 'draw-x', '--prompt', 'x', '--body', '{"user":"400"}', '--wait']);
  expect([failed.code, failed.out]).toEqual([1, expect.stringContaining('failed: no')]);
  await admin.createUser({ username: 'stranger' });
  const other = await (await signIn(gateway.url, { username: 'stranger' })).createKey();
  const env = { TASKGATE_URL: gateway.url, TASKGATE_API_KEY: other };
  const stolen = await run(['get', id, '--out', join(home, 'stolen')], { env });
  expect([stolen.code, stolen.err]).toEqual([1, expect.stringContaining('Task not found')]);
});
