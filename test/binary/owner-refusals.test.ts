/**
 * Hook calls that have to be stopped count against the user who caused them, on every API surface.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  type Administrator,
  type Answer,
  ask,
  type Gateway,
  setUp,
  signIn,
  startGateway,
  startVendor,
  type VendorProcess,
} from '../support/gateway.ts';
import { submit, waitForEnd } from '../support/main-job.ts';

/** A prompt on which the plugin below never ends, and the engine's own interrupt cannot stop it. */
const DEADLY = 'a cat [stuck]';
/** Prompts on which the engine stops it: at the deadline, and at the limit of memory. */
const ENDLESS = 'a cat [endless]';
const GREEDY = 'a cat [greedy]';
const source = (await Bun.file(new URL('../../src/plugins/factory/demo.js', import.meta.url)).text())
  .replace("version: '1.0.0'", "version: '1.0.1'")
  .replace(
    'function normalize(fields) {',
    `function normalize(fields) {
      const does = (word) => String(fields.prompt).includes(word);
      if (does('[stuck]')) new Array(2 ** 32 - 1).includes(1);
      if (does('[endless]')) for (;;);
      if (does('[greedy]')) for (const all = []; ; ) all.push(new Uint8Array(1 << 20).fill(1));`,
  );

let vendor: VendorProcess;
let gateway: Gateway;
let root: Administrator;
let attacker: { key: string; token: string };
let other: { key: string; token: string };

async function createUser(username: string): Promise<{ key: string; token: string }> {
  await root.createUser({ username, quota: 1_000_000 });
  const user = await signIn(gateway.url, { username });
  return { token: user.token, key: await user.createKey() };
}

beforeAll(async () => {
  vendor = await startVendor();
  gateway = await startGateway({
    env: {
      // Short, for calls that never end, and still what a busy machine needs to interrupt one.
      SANDBOX_TIMEOUT_MILLISECONDS: '1500',
      SANDBOX_KILL_GRACE_MILLISECONDS: '3000',
      TASK_POLL_INTERVAL_SECONDS: '1',
    },
  });
  root = await setUp(gateway);
  await root.call('POST', '/api/plugin/task', { source });
  await root.createChannel(vendor.url);
  await root.call('PUT', '/api/price', {
    plugin_key: 'demo',
    model: 'demo-video',
    expression: '0.0001 * u("seconds")',
  });
  [attacker, other] = [await createUser('attacker'), await createUser('other')];
});
afterAll(async () => {
  await gateway?.stop();
  await vendor?.stop();
});

const post = (path: string, token: string, body: unknown) => ask(`${gateway.url}${path}`, { token, body });
const openAiCode = ({ status, body }: Answer) => [status, (body.error as { code: string } | undefined)?.code];
const panelCode = ({ status, body }: Answer) => [status, body.code];

describe('a key whose requests get the plugin stopped again and again', () => {
  let running: string;

  test('is answered 503 for those that killed its process, and 400 for those that it could stop', async () => {
    // A task of the other user, polled all the while.
    const submitted = await submit(gateway.url, other.key, { prompt: 'a slow cat [duration=4]' });
    expect(submitted.status).toBe(200);
    running = String(submitted.body.id);
    const answers = [];
    for (const prompt of [DEADLY, ENDLESS, GREEDY])
      answers.push(openAiCode(await submit(gateway.url, attacker.key, { prompt })));
    const [killed, stopped] = [
      [503, 'plugin_unavailable'],
      [400, 'plugin_request_invalid'],
    ];
    expect(answers.slice(0, 2)).toEqual([killed, stopped]);
    // A slow machine may reach the deadline before the limit of memory.
    expect([400, 503]).toContain(Number(answers[2]?.[0]));
  });

  test('is refused 429 with Retry-After on every surface', async () => {
    const body = { model: 'demo-video', prompt: 'a harmless cat' };
    const answers = [
      await post('/v1/tasks/demo', attacker.key, body),
      await post('/v1/videos', attacker.key, body),
      await post('/v1/responses', attacker.key, { model: 'demo-video', input: 'a harmless cat' }),
      await post('/demo/v1/videos', attacker.key, body),
    ];
    for (const answer of answers) {
      expect(openAiCode(answer)).toEqual([429, 'plugin_busy_for_you']);
      expect(Number(answer.headers.get('retry-after'))).toBeWithin(1, 301);
    }
    for (const path of ['/api/task', '/api/task/quote']) {
      const answer = await post(path, attacker.token, { plugin_key: 'demo', body });
      expect(panelCode(answer)).toEqual([429, 'PLUGIN_BUSY_FOR_YOU']);
    }
  });

  test('affects nobody else: other submissions of the plugin, and the polls of running tasks, go on', async () => {
    const next = await submit(gateway.url, other.key, {});
    expect(next.status).toBe(200);
    const quote = await post('/api/task/quote', other.token, {
      plugin_key: 'demo',
      body: { model: 'demo-video', prompt: 'a harmless cat' },
    });
    expect(quote.status).toBe(200);
    for (const id of [running, String(next.body.id)])
      expect(await waitForEnd(gateway.url, other.key, id)).toMatchObject({ status: 'SUCCESS' });
    const { sandbox } = await root.call<{ sandbox: { suspended: string[] } }>('GET', '/api/node');
    expect(sandbox.suspended).toEqual([]);
  });

  test('is counted in the metrics without a name', async () => {
    const metrics = await (await fetch(`${gateway.url}/metrics`)).text();
    expect(metrics).toContain('taskgate_sandbox_kills{plugin="demo",owner="user"} 3');
    expect(metrics).not.toContain('user:');
  });
});
