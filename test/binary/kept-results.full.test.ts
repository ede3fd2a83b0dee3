import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { appendFileSync, mkdirSync, readdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { createDemoVendor } from '../../src/app/demo-vendor/index.ts';
import { describeBytes, sha256Hex, systemClock } from '../../src/kernel/index.ts';
import { testInFullRun } from '../support/full-run.ts';
import { type Administrator, ask, type Gateway, setUp, startGateway } from '../support/gateway.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { runCommand } from '../support/run-command.ts';
import { until } from '../support/until.ts';

const VENDOR_KEY = 'vendor-key-0123456789';

type Artifact = { key: string; content_url: string; kept?: string; sha256?: string; bytes?: number };

describe('kept results of the executable', () => {
  let gateway: Gateway;
  let root: Administrator;
  let key = '';
  let vendor: { url: string; stop(): Promise<void> };
  beforeAll(async () => {
    vendor = await createDemoVendor({ clock: systemClock, key: VENDOR_KEY, durationMs: 100 }).start(0);
    gateway = await startGateway({ env: { RESULTS_MIN_FREE_MB: '0' } });
    root = await setUp(gateway);
    const channel = { name: 'demo', type: 61, task_plugin_key: 'demo', base_url: vendor.url, key: VENDOR_KEY };
    await root.call('POST', '/api/channel', { ...channel, models: ['demo-video'] });
    await root.call('PUT', '/api/option', { key: 'results.keep', value: 'asked' });
    key = await root.createKey({ keep_results: true });
  });
  afterAll(() => gateway.stop());

  const readArtifacts = async (id: string): Promise<Artifact[]> =>
    (await ask(`${gateway.url}/v1/tasks/${id}/artifacts`, { token: key })).body.artifacts as Artifact[];

  test('stay downloadable, in whole and in parts, once their vendor is gone and after SIGKILL', async () => {
    const { body } = await submit(gateway.url, key, { prompt: 'a [duration=0.1] [bytes=3000000]' });
    const id = String(body.id);
    expect(await waitForEnd(gateway.url, key, id)).toMatchObject({ status: 'SUCCESS' });
    const [kept] = await until('the result is kept', async () => {
      const found = await readArtifacts(id);
      return found[0]?.kept === 'kept' && found;
    });
    await vendor.stop();
    await gateway.kill();
    gateway = await startGateway({ dataDir: gateway.dataDir, port: gateway.port });
    const link = kept?.content_url ?? '';
    const whole = await fetch(link);
    const bytes = Buffer.from(await whole.arrayBuffer());
    expect([whole.status, bytes.length, sha256Hex(bytes)]).toEqual([200, kept?.bytes ?? 0, kept?.sha256 ?? '']);
    expect(bytes.length).toBeGreaterThanOrEqual(3_000_000);
    expect(whole.headers.get('content-type')).toBe('video/mp4');
    expect(whole.headers.get('content-security-policy')).toContain('sandbox');
    const part = await fetch(link, { headers: { range: 'bytes=1000000-1999999' } });
    expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 1000000-1999999/${bytes.length}`]);
    expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(1_000_000, 2_000_000))).toBe(true);
    const parts = await fetch(link, { headers: { range: 'bytes=0-1,10-19' } });
    expect([parts.status, (await parts.text()).split('content-range:').length]).toEqual([206, 3]);
    const head = await fetch(link, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(bytes.length)]);
    const etag = whole.headers.get('etag') ?? '';
    expect((await fetch(link, { headers: { 'if-none-match': etag } })).status).toBe(304);
    const ranged = (validator: string) => fetch(link, { headers: { range: 'bytes=0-1', 'if-range': validator } });
    expect([(await ranged(etag)).status, (await ranged('"other"')).status]).toEqual([206, 200]);
    const byKey = await fetch(`${gateway.url}/v1/videos/${id}/content`, {
      headers: { authorization: `Bearer ${key}` },
    });
    expect([byKey.status, sha256Hex(Buffer.from(await byKey.arrayBuffer()))]).toEqual([200, kept?.sha256 ?? '']);
    const doctor = async () => {
      const { out } = await runCommand(['doctor', '--results', '--verify', '--json', '--data-dir', gateway.dataDir]);
      return JSON.parse(out) as { findings: object[] };
    };
    const checked = await doctor();
    expect(checked.findings).toContainEqual({
      ...{ check: 'results', level: 'ok', message: `1 file of kept results (${describeBytes(bytes.length)}) in place` },
    });
    appendFileSync(join(gateway.dataDir, 'results', (kept?.sha256 ?? '').slice(0, 2), kept?.sha256 ?? ''), 'x');
    const broken = await doctor();
    expect(broken.findings).toContainEqual({
      ...{ check: 'results', level: 'error', message: `1 file has another size than recorded: ${kept?.sha256}` },
    });
    expect((await ask(`${gateway.url}/v1/tasks/${id}`, { token: key, method: 'DELETE' })).status).toBe(200);
    expect((await fetch(link)).status).toBe(404);
  });

  testInFullRun(
    'are not kept, and come from their vendor, while the mount of their folder is missing, until a new one is accepted',
    async () => {
      vendor = await createDemoVendor({ clock: systemClock, key: VENDOR_KEY, durationMs: 100 }).start(0);
      const channel = { name: 'again', type: 61, task_plugin_key: 'demo', base_url: vendor.url, key: VENDOR_KEY };
      await root.call('POST', '/api/channel', { ...channel, priority: 9, models: ['demo-video'] });
      const make = async (): Promise<string> => {
        const { body } = await submit(gateway.url, key, { prompt: 'b [duration=0.1] [bytes=100000]' });
        expect(await waitForEnd(gateway.url, key, String(body.id))).toMatchObject({ status: 'SUCCESS' });
        return String(body.id);
      };
      const isKept = (id: string) =>
        until('the result is kept', async () => (await readArtifacts(id)).find(({ kept }) => kept === 'kept'));
      const first = await make();
      const { content_url: link } = await isKept(first);
      const folder = join(gateway.dataDir, 'results');
      renameSync(folder, `${folder}.away`);
      mkdirSync(folder);

      const fault = 'the folder of results has no marker: its mount may be missing';
      const headers = { authorization: `Bearer ${key}` };
      expect((await fetch(`${gateway.url}/v1/videos/${first}/content`, { headers })).status).toBe(200);
      expect((await fetch(link)).status).toBe(200);
      const second = await make();
      await until('the fault is told', async () =>
        JSON.stringify(await root.call('GET', '/api/attention')).includes(`Results cannot be kept: ${fault}`),
      );
      expect((await fetch(`${gateway.url}/v1/videos/${second}/content`, { headers })).status).toBe(200);
      const { out, code } = await runCommand(['doctor', '--results', '--data-dir', gateway.dataDir]);
      expect([code, out]).toEqual([1, expect.stringContaining(`${fault}; mount it, or`)]);
      expect(readdirSync(folder)).toEqual([]);

      const accepted = await runCommand(['results', 'accept-folder', '--data-dir', gateway.dataDir]);
      expect(accepted).toMatchObject({ code: 0, out: expect.stringContaining('1 kept file is not in it') });
      await isKept(second);
      // Its vendor still has it.
      expect((await fetch(link)).status).toBe(200);
      await vendor.stop();
    },
  );
});
