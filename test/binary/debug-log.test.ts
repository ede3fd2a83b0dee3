/**
 * DEBUG=true: a reader of the log can follow one task from the upload of its plugin to its
 * artifact, and finds no secret.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  type Administrator,
  ask,
  type Gateway,
  setUp,
  startGateway,
  startVendor,
  type VendorProcess,
} from '../support/gateway.ts';
import { waitForEnd } from '../support/main-job.ts';
import { until } from '../support/until.ts';

const VENDOR_KEY = 'vendor-key-nobody-may-see-7261';

type Line = { task_plugin?: string; request_id?: string; task_id?: string; msg: string } & Record<string, unknown>;

describe('the debug log', () => {
  let gateway: Gateway;
  let vendor: VendorProcess;
  let admin: Administrator;
  let key: string;

  beforeAll(async () => {
    vendor = await startVendor();
    gateway = await startGateway({ env: { DEBUG: 'true', TASK_POLL_INTERVAL_SECONDS: '1' } });
    admin = await setUp(gateway);
    const demo = await Bun.file(new URL('../../src/plugins/factory/demo.js', import.meta.url)).text();
    const source = demo
      .replace("key: 'demo'", "key: 'told'")
      .replaceAll('demo-video', 'told-video')
      .replaceAll('/demo/', '/told/')
      .replace(
        'export function buildQueryRequest(ctx) {',
        "export function buildQueryRequest(ctx) {\n  console.log('asking', ctx.apiKey);",
      );
    await admin.call('POST', '/api/plugin/task', { source });
    await admin.createChannel(vendor.url, { task_plugin_key: 'told', models: ['told-video'], key: VENDOR_KEY });
    await admin.call('PUT', '/api/price', {
      plugin_key: 'told',
      model: 'told-video',
      expression: '0.02 * u("seconds")',
    });
    key = await admin.createKey();
  });
  afterAll(async () => {
    await gateway.stop();
    await vendor.stop();
  });

  const lines = (): Line[] =>
    gateway
      .log()
      .split('\n')
      .slice(0, -1)
      .filter((line) => line.includes('"task_plugin"'))
      .map((line) => JSON.parse(line) as Line);
  const submit = (path: string) =>
    ask(`${gateway.url}${path}`, {
      token: key,
      body: { model: 'told-video', prompt: 'a cat on a roof [duration=0.2]', seconds: 5 },
    });
  const readRequest = ({ headers }: { headers: Headers }) => headers.get('x-request-id') ?? '';

  test('one task, from its route to its artifact: every step is logged once, in order, with its request id', async () => {
    await until('the log names the plugin', () =>
      lines().some((line) => line.task_plugin === 'rebuild' && line.request_id === 'SYSTEM'),
    );

    const submitted = await submit('/told/v1/videos');
    expect(submitted.status).toBe(200);
    const id = String(submitted.body.task_id ?? submitted.body.id);
    const followed = await fetch(`${gateway.url}/v1/tasks/${id}/events`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect(await followed.text()).toContain('task.finished');
    expect((await waitForEnd(gateway.url, key, id)).status).toBe('SUCCESS');
    const { body } = await ask(`${gateway.url}/v1/tasks/${id}/artifacts`, { token: key });
    const [artifact] = body.artifacts as { content_url: string }[];
    const content = await fetch(artifact?.content_url ?? '');
    expect(content.status).toBe(200);
    await content.arrayBuffer();

    const request = readRequest(submitted);
    const own = await until('the log has the last steps', () => {
      const found = lines().filter((line) => line.task_id === id || line.request_id === request);
      const last = ['observation_end', 'settlement', 'artifact_request'];
      return last.every((step) => found.some((line) => line.task_plugin === step)) && found;
    });
    const steps = own.filter(({ task_plugin: step = '' }) => !step.startsWith('observation_') && step !== 'console');
    expect(steps.map(({ task_plugin: step, request_id: by }) => [step, by])).toEqual([
      ['route_match', request],
      ['channel_choice', request],
      ['reservation', request],
      ['submit_start', request],
      ['submit_end', request],
      ['parse', request],
      ['persist', request],
      ['poll_claim', 'SYSTEM'],
      ['poll_result', 'SYSTEM'],
      ['settlement', 'SYSTEM'],
      ['artifact_request', readRequest(content)],
    ]);
    const looks = own.filter(({ task_plugin: step = '' }) => step.startsWith('observation_'));
    expect(looks.map(({ task_plugin: step, request_id: by }) => [step, by])).toEqual([
      ['observation_start', readRequest(followed)],
      ['observation_end', readRequest(followed)],
    ]);
    expect(own.find(({ task_plugin: step }) => step === 'settlement')).toMatchObject({
      reserved: 50_000,
      billed: 50_000,
    });
  });

  test('a request of a protocol is logged with the plugin that serves it', async () => {
    const submitted = await submit('/v1/videos');
    expect(submitted.status).toBe(200);
    const pins = await until('the log has it', () => {
      const found = lines().filter(
        (line) => line.request_id === readRequest(submitted) && line.task_plugin === 'protocol_pin',
      );
      return found.length > 0 && found;
    });
    expect(pins).toMatchObject([{ protocol: 'proto_video', plugin: 'told', model: 'told-video' }]);
    await waitForEnd(gateway.url, key, String(submitted.body.id));
  });

  test('console lines of plugins are logged with the plugin’s name and without secrets', async () => {
    await until('a console line is logged', () =>
      lines().some(({ task_plugin: step, msg }) => step === 'console' && msg.startsWith('[plugin:told@1.0.0] asking')),
    );
    const log = gateway.log();
    for (const secret of [VENDOR_KEY, key, key.replace(/^sk-/, ''), admin.token]) expect(log).not.toContain(secret);
    expect(log).not.toMatch(/access=[\w-]{43}/);
  });
});
