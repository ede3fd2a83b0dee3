/**
 * The real ComfyUI behind the plugin, on workflows that need no model: made, uploaded, refused and
 * lost. It runs where `comfyui` is on the path (`pip install comfyui==0.0.1`).
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { findProgram } from '../support/find-program.ts';
import { freePort } from '../support/free-port.ts';
import { type Administrator, ask, type Gateway, letNothingWait, setUp, startGateway } from '../support/gateway.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const program = findProgram(['comfyui']);
const testWithProgram = program === null ? test.skip : test;

/** A red picture of 2 x 2 pixels. */
const PICTURE = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg==',
  'base64',
);
const SAVED = { class_type: 'SaveImage', inputs: { images: ['1', 0], filename_prefix: 'x' } };
const WORKFLOWS = {
  'plain-picture': {
    workflow: {
      '1': { class_type: 'EmptyImage', inputs: { width: 64, height: 64, batch_size: 1, color: 255 } },
      '2': SAVED,
    },
    inputs: { prompt: '2.filename_prefix', width: '1.width', height: '1.height', n: '1.batch_size' },
  },
  'turned-picture': {
    workflow: {
      '3': { class_type: 'LoadImage', inputs: { image: 'none.png' } },
      '1': { class_type: 'ImageInvert', inputs: { image: ['3', 0] } },
      '2': SAVED,
    },
    inputs: { prompt: '2.filename_prefix', image: '3.image' },
  },
};

const CHANNEL_WORKFLOWS = { ...WORKFLOWS, 'changed-picture': WORKFLOWS['turned-picture'] };

let comfyui: ReturnType<typeof Bun.spawn> | undefined;
let gateway: Gateway;
let admin: Administrator;
let key: string;
let folder = '';

beforeAll(async () => {
  if (program === null) return;
  folder = temporaryFolder();
  const port = await freePort();
  comfyui = Bun.spawn([program, '--cpu', '--listen', '127.0.0.1', '--port', String(port), '--cwd', folder], {
    ...{ cwd: folder, stdout: Bun.file(join(folder, 'log')), stderr: Bun.file(join(folder, 'errors')) },
    env: { ...process.env, HF_HUB_OFFLINE: '1', OTEL_SDK_DISABLED: 'true' },
  });
  const url = `http://127.0.0.1:${port}`;
  gateway = await startGateway({ env: { TASK_POLL_INTERVAL_SECONDS: '1', UPSTREAM_ALLOW_PRIVATE: 'true' } });
  admin = await setUp(gateway);
  await letNothingWait(admin);
  key = await admin.createKey();
  await admin.createChannel(url, {
    ...{ name: 'comfyui', key: 'none', task_plugin_key: 'comfyui', models: Object.keys(CHANNEL_WORKFLOWS) },
    model_mapping: {
      ...{ 'plain-picture': 'comfyui-image', 'changed-picture': 'comfyui-image' },
      'turned-picture': 'comfyui-video',
    },
    settings: { workflows: CHANNEL_WORKFLOWS },
  });
  for (const model of Object.keys(CHANNEL_WORKFLOWS)) {
    await admin.call('PUT', '/api/price', {
      plugin_key: 'comfyui',
      model,
      expression: '0.01 + 0 * u("compute_seconds")',
    });
  }
  await until('ComfyUI answers', async () => (await fetch(`${url}/queue`).catch(() => undefined))?.ok === true);
});
afterAll(async () => {
  comfyui?.kill();
  await comfyui?.exited;
  await gateway?.stop();
});

const readKind = (bytes: Uint8Array) => [bytes[0], ...Buffer.from(bytes.slice(1, 4)).toString()];

testWithProgram('a workflow makes pictures, whose seed, size and number the request says', async () => {
  const { status, body } = await ask(`${gateway.url}/v1/images/generations`, {
    token: key,
    body: { model: 'plain-picture', prompt: 'boats', size: '96x64', n: 2, response_format: 'b64_json' },
  });
  expect([status, (body.error as { message?: string } | undefined)?.message]).toEqual([200, undefined]);
  const pictures = (body.data as { b64_json: string }[]).map(({ b64_json }) => Buffer.from(b64_json, 'base64'));
  expect(pictures.map((bytes) => [bytes.readUInt32BE(16), bytes.readUInt32BE(20)])).toEqual([
    [96, 64],
    [96, 64],
  ]);
  const { ledger } = await admin.call<{ ledger: { amount: number }[] }>('GET', `/api/task/${body.id}`);
  expect(-ledger.reduce((sum, { amount }) => sum + amount, 0)).toBe(5000);
});

testWithProgram('a picture of a form is uploaded, and its workflow follows', async () => {
  const form = new FormData();
  form.append('model', 'turned-picture');
  form.append('prompt', 'turned');
  form.append('input_reference', new File([PICTURE], 'red.png', { type: 'image/png' }));
  const headers = { authorization: `Bearer ${key}` };
  const created = await fetch(`${gateway.url}/v1/videos`, { method: 'POST', headers, body: form });
  const { id } = (await created.json()) as { id: string };
  let task: Record<string, unknown> = {};
  await until('the task has ended', async () => {
    task = (await ask(`${gateway.url}/v1/tasks/${id}`, { token: key })).body;
    return task.status === 'SUCCESS' || task.status === 'FAILURE';
  });
  expect([task.status, task.fail_reason]).toEqual(['SUCCESS', '']);
  const file = await fetch(`${gateway.url}/v1/tasks/${id}/artifacts/image/content`, { headers });
  expect(readKind(await file.bytes())).toEqual([0x89, 'P', 'N', 'G']);
  expect(file.headers.get('content-type')).toBe('image/png');
});

testWithProgram('an image is edited', async () => {
  const form = new FormData();
  for (const [name, value] of [
    ['model', 'changed-picture'],
    ['prompt', 'changed'],
    ['response_format', 'b64_json'],
  ] as const)
    form.append(name, value);
  form.append('image', new File([PICTURE], 'red.png', { type: 'image/png' }));
  const headers = { authorization: `Bearer ${key}` };
  const edited = await fetch(`${gateway.url}/v1/images/edits`, { method: 'POST', headers, body: form });
  const { data = [] } = (await edited.json()) as { data?: { b64_json: string }[] };
  expect([edited.status, data.length]).toEqual([200, 1]);
  expect(readKind(Buffer.from(data[0]?.b64_json ?? '', 'base64'))).toEqual([0x89, 'P', 'N', 'G']);
});

testWithProgram('what a node does not take is refused in its words, and costs nothing', async () => {
  const { status, body } = await ask(`${gateway.url}/v1/tasks/comfyui`, {
    token: key,
    body: { model: 'plain-picture', prompt: 'large', size: '99999x64' },
  });
  expect(status).toBe(400);
  expect((body.error as { message: string }).message).toContain('node 1 (EmptyImage)');
});
