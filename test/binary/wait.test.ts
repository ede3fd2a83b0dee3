import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type Administrator, ask, type Gateway, setUp, startGateway, startVendor } from '../support/gateway.ts';
import { until } from '../support/until.ts';

let gateway: Gateway;
let vendor: Awaited<ReturnType<typeof startVendor>>;
let admin: Administrator;
let token: string;

beforeAll(async () => {
  vendor = await startVendor();
  gateway = await startGateway({ env: { TASK_POLL_INTERVAL_SECONDS: '1' } });
  admin = await setUp(gateway);
  await admin.createChannel(vendor.url);
  token = await admin.createKey();
});
afterAll(async () => {
  await gateway?.stop();
  await vendor?.stop();
});

const submit = async (prompt: string, query = '') =>
  (await ask(`${gateway.url}/v1/tasks/demo${query}`, { token, body: { model: 'demo-video', prompt } })).body;
const read = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${token}`, ...headers } });
const ENDED = ['SUCCESS', 'FAILURE', 'completed', 'failed'];

test.each(['tasks', 'videos'])('/v1/%s/:id waits for each change until the task has ended', async (surface) => {
  const { id } = await submit('a boat [duration=2]');
  const seen: string[] = [];
  for (let status = ''; !ENDED.includes(status); seen.push(status)) {
    const answer = await read(`/v1/${surface}/${id}`, { prefer: 'respond-async, wait=60' });
    expect(answer.headers.get('preference-applied')).toBe('wait=60');
    status = ((await answer.json()) as { status: string }).status;
  }
  // One request for each change, and no answer that repeats the one before.
  expect(seen).toEqual([...new Set(seen)]);
  expect(['SUCCESS', 'completed']).toContain(seen.at(-1) as string);
  expect((await read(`/v1/${surface}/${id}?wait=60`)).status).toBe(200);
});

test('a submission waits too', async () => {
  const task = await submit('a boat [duration=0.3]', '?wait=60');
  expect(task).toMatchObject({ object: 'task', model: 'demo-video' });
  expect(task.status).not.toBe('QUEUED');
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', prefer: 'wait=60' };
  const body = JSON.stringify({ model: 'demo-video', prompt: 'a boat [duration=0.3]' });
  const video = await fetch(`${gateway.url}/v1/videos`, { method: 'POST', headers, body });
  expect(video.headers.get('preference-applied')).toBe('wait=60');
  expect(((await video.json()) as { status: string }).status).not.toBe('queued');
});

test('double charge: a submission that asks to wait while too many requests wait is answered with its task', async () => {
  const { id } = await submit('slow [duration=600]');
  const own = await admin.createKey();
  const follow = () => fetch(`${gateway.url}/v1/tasks/${id}/events`, { headers: { authorization: `Bearer ${own}` } });
  const followed = [await follow(), await follow()];
  expect(followed.map(({ status }) => status)).toEqual([200, 200]);
  const body = JSON.stringify({ model: 'demo-video', prompt: 'one [duration=600]' });
  for (const path of ['/v1/tasks/demo', '/v1/videos', '/v1/video/generations']) {
    const headers = { authorization: `Bearer ${own}`, 'content-type': 'application/json', prefer: 'wait=5' };
    const answer = await fetch(`${gateway.url}${path}`, { method: 'POST', headers, body });
    expect([path, answer.status, answer.headers.has('preference-applied')]).toEqual([path, 200, false]);
    expect(await answer.json()).toMatchObject({ id: expect.stringMatching(/^task_/) });
  }
  // Held until here: the runtime closes a stream that nothing refers to any more.
  for (const { body: stream } of followed) await stream?.cancel();
});

test('the time is over: the task as it is', async () => {
  const { id } = await submit('slow [duration=600]');
  await until('it was polled', async () => {
    const { status } = (await (await read(`/v1/tasks/${id}`)).json()) as { status: string };
    return status === 'QUEUED';
  });
  const answer = await read(`/v1/tasks/${id}?wait=1`);
  expect(await answer.json()).toMatchObject({ id, status: 'QUEUED' });
  expect(answer.headers.has('preference-applied')).toBe(false);
});

test('what cannot be waited for', async () => {
  const { id } = await submit('slow [duration=600]');
  for (const wait of ['61', 'x', '-1', '1.5']) {
    const answer = await read(`/v1/tasks/${id}?wait=${wait}`);
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: { param: 'wait' } }]);
  }
  const ignored = await read(`/v1/tasks/${id}`, { prefer: 'wait=soon' });
  expect([ignored.status, ignored.headers.has('preference-applied')]).toEqual([200, false]);
  expect((await read('/v1/tasks/task_unknown?wait=60')).status).toBe(404);
});

test('waiting requests count as observations, and the access that ends ends them', async () => {
  const { id } = await submit('slow [duration=600]');
  await until('it was polled', async () => {
    const { status } = (await (await read(`/v1/tasks/${id}`)).json()) as { status: string };
    return status === 'QUEUED';
  });
  const waiting = [1, 2].map(() => read(`/v1/tasks/${id}?wait=60`));
  await until('a third is too many', async () => {
    const answer = await read(`/v1/tasks/${id}?wait=1`);
    return answer.status === 429;
  });
  const keys = await admin.call<{ items: { id: number }[] }>('GET', '/api/token');
  for (const key of keys.items) await admin.call('DELETE', `/api/token/${key.id}`);
  expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([401, 401]);
});
