/** An activated plugin version that fails is listed, and rolled back where that is wanted. */
import { afterAll, expect } from 'bun:test';
import { testInFullRun } from '../support/full-run.ts';
import { ask, type Gateway, setUp, startGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';

const source = (version: string, address: string): string => `export const meta = {
  apiVersion: 1, key: 'acme', name: 'Acme', version: '${version}', author: { name: 'A' }, models: ['acme-1'],
  fetchMode: 'per_task',
};
export const buildSubmitRequest = (ctx) => ({ url: ctx.baseUrl + '${address}', body: ctx.requestBody });
export const parseSubmitResponse = (ctx, { body }) => ({ taskId: body.id, immediate: { status: 'SUCCESS' } });
export const buildQueryRequest = (ctx) => ({ url: ctx.baseUrl });
export const parseTaskResult = () => ({ status: 'UNKNOWN' });
`;

const vendor = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: ({ url }) =>
    url.endsWith('/jobs') ? Response.json({ id: 'x' }) : Response.json({ message: 'no such path' }, { status: 404 }),
});
let gateway: Gateway | undefined;
afterAll(async () => {
  await gateway?.stop();
  await vendor.stop(true);
});

testInFullRun('a version whose submissions fail is told with both figures, then rolled back by itself', async () => {
  gateway = await startGateway();
  const { url } = gateway;
  const admin = await setUp(gateway);
  const key = await admin.createKey();
  const upload = (version: string, address: string) =>
    admin.call('POST', '/api/plugin/task', { source: source(version, address) });
  await upload('1.0.0', '/jobs');
  await upload('2.0.0', '/job');
  await admin.createChannel(`http://127.0.0.1:${vendor.port}`, { models: ['acme-1'], task_plugin_key: 'acme' });
  const submit = async (times: number): Promise<number[]> => {
    const statuses: number[] = [];
    for (let n = 0; n < times; n += 1)
      statuses.push((await ask(`${url}/v1/tasks/acme`, { token: key, body: { model: 'acme-1' } })).status);
    return [...new Set(statuses)];
  };
  expect(await submit(10)).toEqual([200]);
  await admin.call('POST', '/api/plugin/task/acme/activate', { version: '2.0.0' });
  expect(await submit(20)).toEqual([400]);
  const messageFor = (code: string) =>
    until(`attention has ${code}`, async () => {
      const items = await admin.call<{ code: string; message: string }[]>('GET', '/api/attention');
      return items.find((item) => item.code === code)?.message;
    });
  expect(await messageFor('plugin_failing')).toContain(
    '20 of the last 20 submissions failed; with 1.0.0 it was 0 of 10.',
  );
  await admin.call('PUT', '/api/option', { key: 'task_plugin.auto_rollback', value: 'true' });
  expect(await submit(1)).toEqual([400]);
  expect(await messageFor('plugin_rolled_back')).toContain('0 of 10. The gateway went back to version 1.0.0.');
  expect(await submit(1)).toEqual([200]);
  const { items } = await admin.call<{ items: object[] }>('GET', '/api/audit?action=plugin.rollback');
  expect(items).toMatchObject([{ auth_method: 'gateway', target: 'plugin:acme' }]);
});
