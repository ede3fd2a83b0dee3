import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { RULE_DATABASE_NAMES } from '../support/databases.ts';
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
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { runBeside } from '../support/run-command.ts';

const DEMO_SOURCE = new URL('../../src/plugins/factory/demo.js', import.meta.url);
/** 0.02 USD a second, five seconds, 500,000 units a USD. */
const PRICE = 0.02;
const BILL = 5 * PRICE * 500_000;

for (const dialect of RULE_DATABASE_NAMES) {
  describe(`the main job on ${dialect}`, () => {
    let gateway: Gateway;
    let vendor: VendorProcess;
    let admin: Administrator;
    let key: string;

    beforeAll(async () => {
      vendor = await startVendor();
      const databaseUrl = dialect === 'PostgreSQL' ? await migratedDatabaseUrl() : '';
      gateway = await startGateway({ databaseUrl, env: { TASK_POLL_INTERVAL_SECONDS: '1' } });
      admin = await setUp(gateway);
      await admin.createChannel(vendor.url);
      await admin.call('PUT', '/api/price', {
        plugin_key: 'demo',
        model: 'demo-video',
        expression: `${PRICE} * u("seconds")`,
      });
      key = await admin.createKey();
    });
    afterAll(async () => {
      await gateway?.stop();
      await vendor?.stop();
    });

    test('submit, poll, download and settle through the generic API', async () => {
      const before = await admin.quota();
      const submitted = await submit(gateway.url, key, { prompt: 'a cat [bytes=2000]', seconds: 5 });
      expect(submitted.status).toBe(200);
      expect(submitted.body).toMatchObject({ status: 'queued', model: 'demo-video' });
      const id = String(submitted.body.id);
      expect(id).toMatch(/^task_[A-Za-z0-9]{32}$/);
      expect(await admin.quota()).toBe(before - BILL);

      const done = await waitForEnd(gateway.url, key, id);
      expect(done).toMatchObject({ status: 'SUCCESS', progress: '100%' });
      expect(await admin.quota()).toBe(before - BILL);

      const listed = await ask(`${gateway.url}/v1/tasks/${id}/artifacts`, { token: key });
      const [artifact] = listed.body.artifacts as { key: string; type: string; content_url: string }[];
      expect(artifact).toMatchObject({ type: 'video' });
      const link = new URL(artifact?.content_url ?? '');
      expect(link.searchParams.get('access')).toMatch(/^[\w-]{43}$/);
      const whole = await fetch(artifact?.content_url ?? '');
      expect(whole.status).toBe(200);
      expect(whole.headers.get('content-type')).toBe('video/mp4');
      expect(whole.headers.get('x-content-type-options')).toBe('nosniff');
      const bytes = new Uint8Array(await whole.arrayBuffer());
      expect(whole.headers.get('content-length')).toBe(String(bytes.byteLength));
      expect(bytes.byteLength).toBeGreaterThan(500);

      const byKey = await fetch(`${gateway.url}${link.pathname}`, {
        headers: { authorization: `Bearer ${key}`, range: 'bytes=0-99' },
      });
      expect(byKey.status).toBe(206);
      expect(new Uint8Array(await byKey.arrayBuffer())).toEqual(bytes.slice(0, 100));
      const head = await fetch(`${gateway.url}${link.pathname}`, {
        method: 'HEAD',
        headers: { authorization: `Bearer ${key}` },
      });
      expect(head.status).toBe(200);
      expect(Number(head.headers.get('content-length'))).toBe(bytes.byteLength);
      expect(createHash('sha256').update(bytes).digest('hex')).toMatch(/^[0-9a-f]{64}$/);

      const stats = await vendor.stats(id);
      expect(stats.creates).toBe(1);
      const detail = await admin.call<{ ledger: { kind: string; amount: number }[]; timeline: { status: string }[] }>(
        'GET',
        `/api/task/${id}`,
      );
      expect(detail.ledger.reduce((sum, line) => sum + line.amount, 0)).toBe(-BILL);
      expect(detail.timeline.map((event) => event.status)).toContain('SUCCESS');
    });

    test('a large video is streamed, and HEAD gives its length', async () => {
      const submitted = await submit(gateway.url, key, { prompt: 'a cat [bytes=3000000] [duration=0]', seconds: 5 });
      const id = String(submitted.body.id);
      await waitForEnd(gateway.url, key, id);
      const url = `${gateway.url}/v1/videos/${id}/content`;
      const headers = { authorization: `Bearer ${key}` };
      const bytes = await (await fetch(url, { headers })).bytes();
      expect(bytes.byteLength).toBeGreaterThan(2_900_000);
      const head = await fetch(url, { method: 'HEAD', headers });
      expect([head.status, head.headers.get('content-length')]).toEqual([200, String(bytes.byteLength)]);
      const last = await fetch(url, { headers: { ...headers, range: 'bytes=-1000' } });
      expect([last.status, last.headers.get('content-length')]).toEqual([206, '1000']);
      expect(await last.bytes()).toEqual(bytes.slice(-1000));
    });

    test('a failed job is refunded', async () => {
      const before = await admin.quota();
      const submitted = await submit(gateway.url, key, { prompt: 'a cat [fail] [duration=0]', seconds: 5 });
      const done = await waitForEnd(gateway.url, key, String(submitted.body.id));
      expect(done.status).toBe('FAILURE');
      expect(done.fail_reason).not.toBe('');
      expect(await admin.quota()).toBe(before);
    });

    test('the final bill follows what the vendor delivered', async () => {
      const before = await admin.quota();
      const submitted = await submit(gateway.url, key, { prompt: 'a cat [seconds=3] [duration=0]', seconds: 5 });
      await waitForEnd(gateway.url, key, String(submitted.body.id));
      expect(before - (await admin.quota())).toBe(3 * PRICE * 500_000);
    });

    test('an uploaded plugin serves at once', async () => {
      const source = (await Bun.file(DEMO_SOURCE).text())
        .replace(/key: 'demo'/, "key: 'demo-copy'")
        .replaceAll('demo-video', 'copy-video')
        .replaceAll('/demo/', '/copy/');
      await admin.call('POST', '/api/plugin/task', { source, remark: 'a copy of the demo plugin' });
      await admin.createChannel(vendor.url, { name: 'copy', models: ['copy-video'], task_plugin_key: 'demo-copy' });
      const submitted = await submit(gateway.url, key, { plugin: 'demo-copy', model: 'copy-video' });
      expect(submitted.status).toBe(200);
      expect((await waitForEnd(gateway.url, key, String(submitted.body.id))).status).toBe('SUCCESS');
    });

    test('a user cannot read the task of another', async () => {
      const submitted = await submit(gateway.url, key, {});
      const foreign = await ask(`${gateway.url}/v1/tasks/${String(submitted.body.id)}`, {
        token: `${key.slice(0, -1)}${key.endsWith('x') ? 'y' : 'x'}`,
      });
      expect(foreign.status).toBe(401);
    });

    test('the ledger adds up', async () => {
      const examined = await runBeside(gateway, ['doctor', '--json']);
      expect(examined).toMatchObject({ code: 0 });
    });
  });
}
