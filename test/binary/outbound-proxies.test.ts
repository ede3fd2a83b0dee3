/** The main job, relayed streams and the API of channels, through authenticated proxies. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type ChatVendor, startChatVendor } from '../support/chat-vendor.ts';
import {
  type Administrator,
  ask,
  type Gateway,
  setUp,
  startGateway,
  startVendor,
  type VendorProcess,
} from '../support/gateway.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { startProxy, type TestProxy } from '../support/outbound-proxy.ts';
import { runCommand } from '../support/run-command.ts';

const LOGIN = { user: 'gate', password: 'pass:word-of-the-company-proxy' };
const OTHER = { user: 'channel', password: 'pass@word-of-the-channel-proxy' };
const HEADER = 'value-of-the-api-manager-0123';

let proxy: TestProxy;
let other: TestProxy;
let vendor: VendorProcess;
let chats: ChatVendor;
let gateway: Gateway;
let admin: Administrator;
let key: string;
const closers: (() => unknown)[] = [];

beforeAll(async () => {
  proxy = await startProxy({ scheme: 'http', login: LOGIN });
  other = await startProxy({ scheme: 'socks5h', login: OTHER });
  vendor = await startVendor();
  chats = await startChatVendor();
  gateway = await startGateway({
    env: { OUTBOUND_PROXY: proxy.url, OUTBOUND_NO_PROXY: 'direct.test', LOG_LEVEL: 'debug' },
  });
  closers.push(
    () => proxy.stop(),
    () => other.stop(),
    () => vendor.stop(),
    () => chats.stop(),
    () => gateway.stop(),
  );
  admin = await setUp(gateway);
  key = await admin.createKey();
  await admin.call('PUT', '/api/price', { plugin_key: '*', model: 'gpt-chat', expression: '0' });
});
afterAll(async () => {
  const log = gateway.log();
  for (const close of closers.reverse()) await close();
  for (const secret of [LOGIN.password, OTHER.password, HEADER, encodeURIComponent(OTHER.password)])
    expect(log).not.toContain(secret);
});

const portFor = (url: string) => new URL(url).port;

test('the main job goes through OUTBOUND_PROXY, by the vendor’s name', async () => {
  await admin.createChannel(`http://vendor.test:${vendor.port}`);
  const { body } = await submit(gateway.url, key, {});
  const task = await waitForEnd(gateway.url, key, String(body.id ?? body.task_id));
  expect(task.status).toBe('SUCCESS');
  const content = await fetch(`${gateway.url}/v1/videos/${task.id}/content`, {
    headers: { authorization: `Bearer ${key}` },
  });
  expect(content.status).toBe(200);
  expect((await content.bytes()).length).toBeGreaterThan(0);
  expect(new Set(proxy.asked)).toEqual(new Set([`vendor.test:${vendor.port}`]));
});

test('a channel’s proxy, headers and default fields: sent, sealed, and kept where they are not given again', async () => {
  const before = proxy.asked.length;
  const id = await admin.createChannel(`http://llm.test:${portFor(chats.url)}`, {
    ...{ type: 1, name: 'chats', key: chats.key, models: ['gpt-chat'], task_plugin_key: undefined },
    ...{ proxy: other.url, headers: { 'X-Api-Manager': HEADER }, body_defaults: { max_tokens: 77, temperature: 1 } },
  });
  const chat = (fields: object = {}) =>
    ask(`${gateway.url}/v1/chat/completions`, {
      token: key,
      body: { model: 'gpt-chat', temperature: 0, messages: [{ role: 'user', content: 'hi' }], ...fields },
    });
  expect((await chat()).status).toBe(200);
  const streamed = await chat({ stream: true });
  expect(String(streamed.body.text)).toContain('[DONE]');
  for (const request of chats.requests) {
    expect(request.headers).toMatchObject({ 'x-api-manager': HEADER, authorization: `Bearer ${chats.key}` });
    expect(request.body).toMatchObject({ max_tokens: 77, temperature: 0 });
  }
  expect(new Set(other.asked)).toEqual(new Set([`llm.test:${portFor(chats.url)}`]));
  expect(proxy.asked.length).toBe(before);

  const read = () => admin.call('GET', `/api/channel/${id}`);
  const shown = { proxy: `socks5h://127.0.0.1:${other.port}`, header_names: ['X-Api-Manager'] };
  expect(await read()).toMatchObject({ ...shown, body_defaults: { max_tokens: 77, temperature: 1 } });
  await admin.call('PUT', `/api/channel/${id}`, { name: 'renamed', headers: { 'X-Api-Manager': null, 'X-New': 'b' } });
  expect(await read()).toMatchObject({ ...shown, header_names: ['X-Api-Manager', 'X-New'] });
  expect((await chat()).status).toBe(200);
  expect(chats.requests.at(-1)?.headers).toMatchObject({ 'x-api-manager': HEADER, 'x-new': 'b' });
  const log = JSON.stringify(await admin.call('GET', '/api/audit?page_size=100'));
  for (const secret of [OTHER.password, encodeURIComponent(OTHER.password), HEADER])
    expect(`${JSON.stringify(await read())} ${log}`).not.toContain(secret);

  // A vendor that repeats what it got tells nobody.
  chats.answerNext(JSON.stringify({ choices: [{ message: { content: `got ${HEADER}` } }] }));
  expect(JSON.stringify((await chat()).body)).not.toContain(HEADER);
});

test.each([
  [{ proxy: 'proxy.lan:3128' }, 'proxy'],
  [{ headers: { 'bad name': 'x' } }, 'headers.bad name'],
  [{ headers: { Host: 'x' } }, 'headers.Host'],
  [{ headers: { 'X-A': 'line\r\nbreak' } }, 'headers.X-A'],
  [{ headers: { 'X-A': null } }, 'headers.X-A'],
  [{ headers: { 'X-A': 'a', 'x-a': 'b' } }, 'headers.x-a'],
  [{ body_defaults: { model: 'another' } }, 'body_defaults.model'],
] as const)('what no request could carry is refused when it is saved: %j', async (fields, param) => {
  const body = { name: 'x', type: 1, key: 'k', base_url: 'https://llm.test', models: ['m'], ...fields };
  const answer = await ask(`${gateway.url}/api/channel`, { token: admin.token, body });
  expect(answer.status).toBe(400);
  expect(JSON.stringify(answer.body)).toContain(JSON.stringify(param).slice(1, -1));
  expect(JSON.stringify(answer.body)).not.toContain('line');
});

test('a channel’s test and doctor tell which way they went, and where it ends', async () => {
  const fields = { type: 1, key: chats.key, models: ['gpt-way'], task_plugin_key: undefined, status: 2 };
  const port = portFor(chats.url);
  const good = await admin.createChannel(`http://llm.test:${port}`, { ...fields, name: 'good', proxy: other.url });
  const wrong = other.url.replace(encodeURIComponent(OTHER.password), 'wrong-password');
  const bad = await admin.createChannel(`http://llm.test:${port}`, { ...fields, name: 'bad', proxy: wrong });
  const dead = await admin.createChannel('https://llm.test', { ...fields, name: 'dead', proxy: 'http://127.0.0.1:1' });
  const readSteps = async (id: number) => {
    const { steps } = await admin.call<{ steps: { name: string; ok: boolean; message: string }[] }>(
      'POST',
      `/api/channel/${id}/test`,
    );
    return steps.map(({ name, ok, message }) => `${name} ${ok} ${message}`);
  };
  const way = ['address true The proxy resolves llm.test.', `proxy true The proxy ${shownProxy()} was reached.`];
  expect(await readSteps(good)).toEqual(
    expect.arrayContaining([
      ...way,
      'connection true Connected, but over HTTP: the key is sent unencrypted. Use an https:// address.',
    ]),
  );
  const refused = 'The proxy rejected the username or password.';
  expect((await readSteps(bad)).slice(1)).toEqual([...way, `connection false ${refused}`]);
  expect((await readSteps(dead)).at(-1)).toBe('proxy false No connection to the proxy could be made (ECONNREFUSED).');

  const doctor = async (...words: string[]) => {
    const run = await runCommand(['doctor', '--network', ...words, '--data-dir', gateway.dataDir, '--json'], {
      env: { OUTBOUND_PROXY: proxy.url },
    });
    const { findings } = JSON.parse(run.out) as { findings: { check: string; level: string; message: string }[] };
    return findings.filter(({ check }) => check === 'network').map(({ level, message }) => `${level} ${message}`);
  };
  expect(await doctor(String(good))).toEqual([
    `ok channel ${good} (good): address: The proxy resolves llm.test.`,
    `ok channel ${good} (good): proxy: The proxy ${shownProxy()} was reached.`,
    `ok channel ${good} (good): connection: Connected, but over HTTP: the key is sent unencrypted. Use an https:// address.`,
    expect.stringMatching(/answer: The vendor responded in \d+ ms \(HTTP \d+\)\.$/),
  ]);
  expect((await doctor(String(bad))).at(-1)).toBe(`error channel ${bad} (bad): connection: ${refused}`);
  // All that are enabled.
  expect((await doctor()).join(' ')).not.toContain('(bad)');
});

const shownProxy = () => `socks5h://127.0.0.1:${other.port}`;

test('stolen key: a proxy that reads an address without TLS needs the key again', async () => {
  const fields = { type: 1, key: chats.key, models: ['gpt-other'], task_plugin_key: undefined };
  const plain = await admin.createChannel('http://llm.test', fields);
  const secure = await admin.createChannel('https://llm.test', fields);
  const change = (id: number) =>
    ask(`${gateway.url}/api/channel/${id}`, { method: 'PUT', token: admin.token, body: { proxy: 'http://evil.test' } });
  expect((await change(plain)).status).toBe(403);
  expect((await change(secure)).status).toBe(200);
});
