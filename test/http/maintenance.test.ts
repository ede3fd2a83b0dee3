/** Maintenance: no new submissions on any surface, while tasks go on and can be read. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type Administrator, ask, type Gateway, setUp, startGateway, startVendor } from '../support/gateway.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { runCommand } from '../support/run-command.ts';
import { until } from '../support/until.ts';

let vendor: Awaited<ReturnType<typeof startVendor>>;
let gateway: Gateway;
let root: Administrator;
let key: string;

beforeAll(async () => {
  vendor = await startVendor();
  gateway = await startGateway({ env: { SYNC_FREQUENCY: '1' } });
  root = await setUp(gateway);
  await root.createChannel(vendor.url);
  key = await root.createKey();
});
afterAll(async () => {
  await gateway?.kill();
  await vendor?.stop();
});

const maintenance = (...words: string[]) => runCommand(['maintenance', ...words, '--data-dir', gateway.dataDir]);

test('refuses submissions with the words of the operator, lets tasks end, and opens again', async () => {
  const { body } = await submit(gateway.url, key, {});
  // One that has not ended when the command counts.
  await submit(gateway.url, key, { prompt: 'a [duration=600]' });
  const closed = await maintenance('on', '--message', 'New disks until noon.');
  expect([closed.code, closed.err]).toEqual([0, '']);
  expect(closed.out).toContain('503 with "New disks until noon."');
  expect(closed.out).toMatch(/[12] tasks have not ended/);

  await until('the gateway is closed', async () => (await submit(gateway.url, key, {})).status === 503);
  for (const path of ['/v1/videos', '/v1/responses', '/v1/images/generations']) {
    const refused = await fetch(`${gateway.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'demo-video', prompt: 'a cat', input: 'a cat' }),
    });
    expect([path, refused.status, refused.headers.get('retry-after')]).toEqual([path, 503, '300']);
    expect(await refused.json()).toMatchObject({ error: { code: 'maintenance', message: 'New disks until noon.' } });
  }
  expect((await waitForEnd(gateway.url, key, String(body.id))).status).toBe('SUCCESS');
  expect((await ask(`${gateway.url}/readyz`)).status).toBe(200);
  const items = await root.call<{ code: string; message: string }[]>('GET', '/api/attention');
  expect(items.find(({ code }) => code === 'maintenance_on')?.message).toContain('New disks until noon.');
  const audit = await root.call<{ items: { detail: unknown }[] }>('GET', '/api/audit?action=option.set');
  expect(audit.items.length).toBeGreaterThanOrEqual(2);

  const opened = await maintenance('off');
  expect(opened.out).toContain('open for new submissions');
  await until('the gateway is open', async () => (await submit(gateway.url, key, {})).status === 200);
  expect((await maintenance('half')).code).toBe(2);
});

test('closes and opens by the options of the panel too, with the words and the pause that they set', async () => {
  const set = (values: Record<string, string>) =>
    root.call('PUT', '/api/option', { options: Object.entries(values).map(([name, value]) => ({ key: name, value })) });
  await set({
    'maintenance.message': 'The vendor moves house.',
    'maintenance.retry_after_seconds': '77',
    'maintenance.enabled': 'true',
  });
  const refused = await submit(gateway.url, key, {});
  expect([refused.status, refused.headers.get('retry-after'), refused.body]).toMatchObject([
    503,
    '77',
    { error: { code: 'maintenance', message: 'The vendor moves house.' } },
  ]);
  expect((await maintenance('status')).out).toContain('The vendor moves house.');
  await set({ 'maintenance.enabled': 'false' });
  expect((await submit(gateway.url, key, {})).status).toBe(200);
});
