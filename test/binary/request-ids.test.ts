/** Every log line that a request causes has its id, on the executable. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { openBackdoor } from '../support/backdoor.ts';
import { PASSWORD } from '../support/cheap-hash.ts';
import {
  type Administrator,
  ask,
  type Gateway,
  letNothingWait,
  ROOT,
  setUp,
  startGateway,
  startVendor,
} from '../support/gateway.ts';
import { startBadServer } from '../support/smtp.ts';

type Line = { level: string; msg: string; request_id?: string; code?: string; channel?: string; err?: object };

/** Its hooks fail in both ways: one throws, the other returns nothing. */
const SOURCE = `export const meta = {
  apiVersion: 1, key: 'broken', name: 'Broken', version: '1.0.0', author: { name: 'A' },
  models: ['broken-throws', 'broken-empty'], fetchMode: 'per_task',
};
export const buildSubmitRequest = (ctx) => {
  console.log('from the hook');
  if (ctx.model === 'broken-throws') throw new Error('the hook fails');
  return null;
};
export const parseSubmitResponse = (ctx, { body }) => ({ taskId: body.id });
export const buildQueryRequest = (ctx) => ({ url: ctx.baseUrl });
export const parseTaskResult = () => ({ status: 'UNKNOWN' });
`;

let gateway: Gateway;
let admin: Administrator;
let key = '';
let mailServer: Awaited<ReturnType<typeof startBadServer>>;

beforeAll(async () => {
  mailServer = await startBadServer((socket) => socket.end('554 no mail today\r\n'));
  gateway = await startGateway({ env: { LOG_LEVEL: 'debug', DEBUG: 'true', TRUSTED_PROXIES: 'none' } });
  admin = await setUp(gateway);
  await letNothingWait(admin);
  key = await admin.createKey();
  const down = await startVendor();
  await down.stop();
  await admin.createChannel(down.url, { name: 'Northern account' });
  await admin.call('POST', '/api/plugin/task', { source: SOURCE });
  await admin.createChannel('http://127.0.0.1:1', {
    ...{ models: ['broken-throws', 'broken-empty'], task_plugin_key: 'broken' },
  });
});
afterAll(async () => {
  await gateway.kill();
  await mailServer.stop();
});

const lines = (): Line[] =>
  gateway
    .log()
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Line);
const listLines = (id: string): Line[] => lines().filter((line) => line.request_id === id);

type Provocation = { path: string; last?: string } & Parameters<typeof ask>[1];

/** Sends a request with an id of its own; gives its lines once `last` is among them. */
async function provoke(id: string, { path, last = id, ...options }: Provocation): Promise<Line[]> {
  await ask(`${gateway.url}${path}`, { ...options, headers: { 'x-request-id': id } });
  await gateway.logged(`"request_id":"${id}","method"`);
  await gateway.logged(last);
  return listLines(id);
}

const expectOneLine = (found: Line[], message: string, level: string): Line => {
  const those = found.filter(({ msg }) => msg.includes(message));
  expect(those.map(({ msg }) => msg)).toHaveLength(1);
  expect(those[0]?.level).toBe(level);
  return those[0] as Line;
};

test('an expected failure of a vendor is one line with the name of its channel, without a stack', async () => {
  const body = { model: 'demo-video', prompt: 'a heron' };
  const found = await provoke('of-the-vendor', {
    ...{ path: '/v1/tasks/demo', token: key, body, last: 'tasks.vendor_unreachable' },
  });
  const line = expectOneLine(found, 'vendor did not accept a submission', 'warn');
  expect(line).toMatchObject({ code: 'tasks.vendor_unreachable', channel: 'Northern account' });
  // The rest of the account is an event of its own, and the request has its line as every other.
  expect(found.filter(({ level }) => level !== 'debug').map(({ msg }) => msg)).toEqual([
    'nothing is sent to an account for a while',
    line.msg,
    'request',
  ]);
  expect(JSON.stringify(found)).not.toContain('"stack"');
});

test.each(['broken-throws', 'broken-empty'])('a hook that fails, and its console, have the id: %s', async (model) => {
  const id = `of-${model}`;
  const found = await provoke(id, { path: '/v1/tasks/broken', token: key, body: { model } });
  expectOneLine(found, 'from the hook', 'debug');
  expect(found.filter(({ code }) => code !== undefined)).toHaveLength(1);
  expect(JSON.stringify(found)).not.toContain('"stack":');
});

test('a request that is not valid has the id', async () => {
  const found = await provoke('of-validation', { path: '/api/user/login', body: { username: 7 } });
  expect(found.filter(({ code }) => code !== undefined)).toMatchObject([{ level: 'debug' }]);
});

test('what deeper rooms log for a request has the id', async () => {
  const found = await provoke('of-sign-in', { path: '/api/user/login', body: ROOT });
  expectOneLine(found, 'signed in', 'info');
});

test('an email that fails after the answer has the id of its request', async () => {
  const { port } = mailServer;
  const options = {
    SMTPServer: '127.0.0.1',
    SMTPPort: String(port),
    SMTPFrom: 'gate@example.org',
    SMTPSSLEnabled: 'false',
  };
  await admin.call('PUT', '/api/option', {
    options: Object.entries({ ...options, ServerAddress: gateway.url }).map(([name, value]) => ({ key: name, value })),
  });
  await admin.createUser({ username: 'finn', email: 'finn@example.net', password: PASSWORD });
  const body = { email: 'finn@example.net' };
  const found = await provoke('of-the-mail', { path: '/api/reset_password', body, last: 'an email could not be sent' });
  expectOneLine(found, 'an email could not be sent', 'error');
});

test('an unexpected failure has the id, and its stack', async () => {
  const database = openBackdoor(gateway);
  await database.run('alter table api_keys rename to away');
  const found = await provoke('of-the-gateway', { path: '/api/token', token: admin.token });
  await database.run('alter table away rename to api_keys');
  await database.close();
  const line = expectOneLine(found, 'request failed unexpectedly', 'error');
  expect(JSON.stringify(line.err)).toContain('stack');
});

test('no warning or error of this file lacks the id of a request', () => {
  const loud = lines().filter(({ level }) => level === 'warn' || level === 'error');
  expect(loud.length).toBeGreaterThan(2);
  expect(loud.filter(({ request_id }) => request_id === undefined)).toEqual([]);
});
