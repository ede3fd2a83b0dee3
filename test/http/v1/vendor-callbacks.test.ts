/** Vendors that call back: polled at once, believed in nothing. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { pluginSource } from '../../plugins/support.ts';
import { type Administrator, ask, type Gateway, setUp, startGateway } from '../../support/gateway.ts';
import { waitForEnd } from '../../support/main-job.ts';
import { until } from '../../support/until.ts';

const SOURCE = pluginSource({ key: 'pushing', models: ['push-1'] }, `export const protocols = {};`).replace(
  'body: ctx.requestBody }',
  'body: { ...ctx.requestBody, callback: ctx.callbackUrl ?? "none" } }',
);

type Job = { callback: string; polls: number; status: string };
const jobs: Job[] = [];
const vendor = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    const id = new URL(request.url).pathname.split('/')[2];
    if (id === undefined) {
      const { callback } = (await request.json()) as Job;
      jobs.push({ callback, polls: 0, status: 'IN_PROGRESS' });
      return Response.json({ id: String(jobs.length) });
    }
    const job = jobs[Number(id) - 1] as Job;
    job.polls += 1;
    return Response.json({ status: job.status });
  },
});

let gateway: Gateway;
let admin: Administrator;
let key: string;
beforeAll(async () => {
  // Without a call a task is polled once an hour.
  gateway = await startGateway({ env: { VENDOR_CALLBACKS: 'true', TASK_POLL_INTERVAL_SECONDS: '3600' } });
  admin = await setUp(gateway);
  await admin.call('POST', '/api/plugin/task', { source: SOURCE });
  await admin.call('PUT', '/api/price', { plugin_key: 'pushing', model: 'push-1', expression: '0' });
  await admin.createChannel(vendor.url.origin, { models: ['push-1'], task_plugin_key: 'pushing' });
  key = await admin.createKey();
});
afterAll(async () => {
  await gateway.stop();
  await vendor.stop(true);
});

async function begin(): Promise<{ id: string; job: Job }> {
  const { status, body } = await ask(`${gateway.url}/v1/tasks/pushing`, { token: key, body: { model: 'push-1' } });
  expect([status, body]).toEqual([200, expect.anything()]);
  return { id: String(body.id ?? body.task_id), job: jobs.at(-1) as Job };
}

test('a task whose vendor called back is polled then, and not after its interval', async () => {
  const { id, job } = await begin();
  expect(job.callback).toContain(`:${gateway.port}/v1/callbacks/${id}/`);
  job.status = 'SUCCESS';
  const answer = await fetch(job.callback, { method: 'POST', body: '{"status":"FAILURE"}' });
  expect([answer.status, await answer.text()]).toEqual([200, 'ok']);
  expect((await waitForEnd(gateway.url, key, id)).status).toBe('SUCCESS');
  expect(job.polls).toBe(1);
  // One that has ended is polled no more.
  expect((await fetch(job.callback)).status).toBe(200);
  const other = await begin();
  other.job.status = 'SUCCESS';
  await fetch(other.job.callback, { method: 'POST' });
  await waitForEnd(gateway.url, key, other.id);
  expect(job.polls).toBe(1);
});

test('a flood of false calls costs the vendor no poll, one of true calls few', async () => {
  const { id, job } = await begin();
  const token = job.callback.split('/').at(-1) ?? '';
  const others = [
    `${id}/${token.replace(/./, (first) => (first === 'A' ? 'B' : 'A'))}`,
    `task_other/${token}`,
    `${id}/x`,
  ];
  const answers = await Promise.all(
    Array.from({ length: 300 }, (_, i) => fetch(`${gateway.url}/v1/callbacks/${others[i % 3]}`, { method: 'POST' })),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404]));
  expect(job.polls).toBe(0);
  await Promise.all(Array.from({ length: 100 }, () => fetch(job.callback, { method: 'POST' })));
  await until('the vendor is asked', () => job.polls > 0);
  expect(job.polls).toBeLessThan(20);
});

test('a challenge is echoed', async () => {
  const { job } = await begin();
  const answer = await fetch(job.callback, { method: 'POST', body: JSON.stringify({ challenge: 'abc' }) });
  expect(await answer.json()).toEqual({ challenge: 'abc' });
  expect(answer.headers.get('content-type')).toContain('application/json');
});
