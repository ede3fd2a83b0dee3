/** The strict vendor, asked by the plugin of docs/signed-vendor.md. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { createStrictVendor, STRICT_VENDOR_KEY } from '../../src/app/demo-vendor/index.ts';
import { type Json, systemClock } from '../../src/kernel/index.ts';
import { lintPlugin, openPlugin } from '../../src/plugins/author/index.ts';
import { startSandbox } from '../plugins/support.ts';

const GUIDE = readFileSync(new URL('../../docs/signed-vendor.md', import.meta.url), 'utf8');
const SOURCE = [...GUIDE.matchAll(/^```js strict-films\.js\n([\s\S]*?)^```$/gm)].map(([, text]) => text).join('\n');

const sandbox = startSandbox();
let later = 0;
const clock = { ...systemClock, unix: () => systemClock.unix() + later };
let vendor: { url: string; stop(): Promise<void> };
let call: (hook: string, ...args: Json[]) => Promise<Json>;
let context: { [name: string]: Json };
beforeAll(async () => {
  vendor = await createStrictVendor({ clock, durationMs: 0 }).start(0);
  const opened = await openPlugin(SOURCE, sandbox);
  if (!opened.ok) throw new Error(JSON.stringify(opened.error));
  call = async (hook, ...args) => {
    const outcome = await opened.value.call(hook.split('.'), args);
    if (!outcome.ok) throw new Error(outcome.error.message);
    return outcome.value.value ?? null;
  };
  context = { baseUrl: vendor.url, apiKey: STRICT_VENDOR_KEY, upstreamModel: 'strict-video', files: [] };
});
afterAll(async () => {
  await vendor.stop();
  await sandbox.close();
});

type Described = {
  url: string;
  method: string;
  headers: Record<string, string>;
  body?: string;
  parts?: { name: string; value?: string; fileRef?: string }[];
};
async function send({ url, method, headers, body, parts }: Described) {
  const form = new FormData();
  for (const { name, value } of parts ?? []) {
    if (value === undefined) form.append(name, new Blob(['an image']), 'a.png');
    else form.append(name, value);
  }
  const answer = await fetch(url, { method, headers, body: parts ? form : (body ?? null) });
  return { status: answer.status, body: (await answer.json()) as { [name: string]: Json } };
}
const ask = async (hook: string, ...args: Json[]) => send((await call(hook, ...args)) as Described);
const order = (more: object = {}) =>
  ask('buildSubmitRequest', { ...context, requestBody: { prompt: 'a boat', seconds: 8 }, ...more } as Json);
const query = (id: Json, started: boolean) =>
  ask('buildQueryRequest', { ...context, taskId: id, state: { started } } as Json);
const parse = ({ status, body }: { status: number; body: Json }) =>
  call('parseTaskResult', context, body, { status, headers: {} });

test('the plugin of the guide has no warnings', async () => {
  expect((await lintPlugin(SOURCE, sandbox)).warnings.filter(({ rule }) => !rule.startsWith('extension'))).toEqual([]);
});

describe('signatures', () => {
  test('a signed text and a signed form are taken', async () => {
    expect(await order()).toMatchObject({ status: 200, body: { state: 'draft' } });
    const files = [{ ref: 'request_file:image', field: 'image', filename: 'a.png', mimeType: 'image/png', size: 8 }];
    expect(await order({ files })).toMatchObject({ status: 200, body: { state: 'draft', image: { bytes: 8 } } });
  });

  test('a forged body, another path, an old time and a missing signature are refused', async () => {
    const signed = (await call('buildSubmitRequest', {
      ...context,
      requestBody: { prompt: 'a boat' },
    } as Json)) as Described;
    for (const forged of [
      { ...signed, body: signed.body?.replace('boat', 'ship') as string },
      { ...signed, url: `${signed.url}?free=1` },
      { ...signed, headers: { ...signed.headers, 'X-Timestamp': '1700000000' } },
      { ...signed, headers: { ...signed.headers, 'X-Signature': '' } },
      { ...signed, headers: { ...signed.headers, 'X-Access-Id': 'other' } },
    ]) {
      expect(await send(forged)).toMatchObject({ status: 401, body: { error: { code: 'bad_signature' } } });
    }
  });
});

test('a job is started by the first poll, and a poll that is repeated starts it once', async () => {
  const { body: draft } = await order();
  const id = draft.job_id as string;
  expect(await parse(await query(id, false))).toEqual({ status: 'SUCCESS', state: { started: true } });
  // The gateway died before it stored that: it sends the same poll again.
  const again = await query(id, false);
  expect(again.status).toBe(409);
  expect(await parse(again)).toEqual({ status: 'SUBMITTED', state: { started: true } });
  expect(await parse(await query(id, true))).toEqual({ status: 'SUCCESS', state: { started: true } });
  expect(await parse({ status: 409, body: { error: { code: 'other' } } })).toEqual({ status: 'UNKNOWN' });
});

test('the address of a file is looked up, and one that has expired is looked up again', async () => {
  const { body: draft } = await order();
  await query(draft.job_id as string, false);
  const task = { status: 'SUCCESS' };
  const resolve = { ...context, upstreamTaskId: draft.job_id as string };
  const lookUp = async () => {
    const { request } = (await call('resolveArtifact', task, 'video', resolve)) as unknown as { request: Described };
    const answer = await send(request);
    const response = { statusCode: answer.status, headers: {}, body: answer.body };
    return (await call('resolveArtifact', task, 'video', { ...resolve, response })) as {
      url: string;
      expiresIn: number;
    };
  };
  const first = await lookUp();
  expect(first.expiresIn).toBe(25);
  expect((await fetch(first.url)).headers.get('content-type')).toBe('video/mp4');
  later = 31;
  expect((await fetch(first.url)).status).toBe(403);
  expect((await fetch(first.url.replace(/expires=\d+/, `expires=${clock.unix() + 99}`))).status).toBe(404);
  const second = await lookUp();
  expect(second.url).not.toBe(first.url);
  expect((await fetch(second.url)).status).toBe(200);
});
