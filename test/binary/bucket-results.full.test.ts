import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createDemoVendor } from '../../src/app/demo-vendor/index.ts';
import { describeBytes, sha256Hex, systemClock } from '../../src/kernel/index.ts';
import { type Administrator, ask, type Gateway, setUp, startGateway } from '../support/gateway.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { runCommand } from '../support/run-command.ts';
import { type S3StandIn, s3Error, startS3StandIn } from '../support/s3-stand-in.ts';
import { until } from '../support/until.ts';

const VENDOR_KEY = 'vendor-key-0123456789';
const SECRET = 'bucket-secret-0123456789';

type Artifact = { key: string; content_url: string; kept?: string; sha256?: string; bytes?: number };

describe('results that the executable keeps in a bucket', () => {
  let bucket: S3StandIn;
  let env: Record<string, string>;
  let gateway: Gateway;
  let root: Administrator;
  let key = '';
  let vendor: { url: string; stop(): Promise<void> };
  beforeAll(async () => {
    bucket = startS3StandIn();
    vendor = await createDemoVendor({ clock: systemClock, key: VENDOR_KEY, durationMs: 100 }).start(0);
    env = {
      RESULTS_URL: `s3://results/kept?endpoint=${bucket.url}&region=eu-1&sse=AES256`,
      RESULTS_S3_ACCESS_KEY_ID: 'bucket-key',
      RESULTS_S3_SECRET_ACCESS_KEY: SECRET,
      RESULTS_MIN_FREE_MB: '0',
      // The bucket is the operator's own: no proxy stands between.
      HTTP_PROXY: 'http://127.0.0.1:9',
      http_proxy: 'http://127.0.0.1:9',
    };
    gateway = await startGateway({ env });
    root = await setUp(gateway);
    const channel = { name: 'demo', type: 61, task_plugin_key: 'demo', base_url: vendor.url, key: VENDOR_KEY };
    await root.call('POST', '/api/channel', { ...channel, models: ['demo-video'] });
    await root.call('PUT', '/api/option', { key: 'results.keep', value: 'all' });
    key = await root.createKey({});
  });
  afterAll(async () => {
    await gateway.stop();
    await vendor.stop();
    await bucket.stop();
  });

  const readArtifact = async (id: string): Promise<Artifact> => {
    const { body } = await ask(`${gateway.url}/v1/tasks/${id}/artifacts`, { token: key });
    return (body.artifacts as Artifact[])[0] as Artifact;
  };
  const create = async (prompt: string): Promise<string> => {
    const { body } = await submit(gateway.url, key, { prompt });
    expect(await waitForEnd(gateway.url, key, String(body.id))).toMatchObject({ status: 'SUCCESS' });
    return String(body.id);
  };
  const isKept = (id: string) =>
    until('the result is kept', async () => {
      const found = await readArtifact(id);
      return found.kept === 'kept' && found;
    });

  test('are streamed in whole and in parts, checked by doctor, and sent by the bucket where that is asked', async () => {
    const id = await create('a [duration=0.1] [bytes=3000000]');
    const kept = await isKept(id);
    const object = bucket.objects.get(`kept/${kept.sha256}`);
    expect([object?.bytes.length, object?.headers.get('x-amz-server-side-encryption')]).toEqual([kept.bytes, 'AES256']);
    const whole = await fetch(kept.content_url);
    const bytes = Buffer.from(await whole.arrayBuffer());
    expect([whole.status, sha256Hex(bytes), bytes.length]).toEqual([200, kept.sha256 ?? '', kept.bytes ?? 0]);
    const part = await fetch(kept.content_url, { headers: { range: 'bytes=1000-1999' } });
    expect([part.status, part.headers.get('content-length')]).toEqual([206, '1000']);
    expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(1000, 2000))).toBe(true);
    const parts = await fetch(kept.content_url, { headers: { range: 'bytes=0-1,10-19' } });
    expect([parts.status, (await parts.text()).split('content-range:').length]).toEqual([206, 3]);
    expect((await fetch(kept.content_url, { method: 'HEAD' })).headers.get('content-length')).toBe(`${kept.bytes}`);

    await root.call('PUT', '/api/option', { key: 'results.s3_redirect', value: 'true' });
    const redirect = await until('downloads are redirected', async () => {
      const answer = await fetch(kept.content_url, { redirect: 'manual' });
      return answer.status === 302 && answer;
    });
    expect(redirect.headers.get('cache-control')).toContain('no-store');
    const link = new URL(redirect.headers.get('location') ?? '');
    expect([link.origin, link.searchParams.get('X-Amz-Expires')]).toEqual([bucket.url, '300']);
    const direct = await fetch(link);
    expect([sha256Hex(await direct.bytes()), direct.headers.get('content-type')]).toEqual([
      ...[kept.sha256 ?? '', 'video/mp4'],
    ]);

    expect(await doctor()).toContainEqual({
      ...{ check: 'results', level: 'ok', message: `1 file of kept results (${describeBytes(bytes.length)}) in place` },
    });
    const marker = bucket.objects.get('kept/.taskgate-results');
    const name = marker?.bytes.toString() ?? '';
    expect(name).toMatch(/^\w{24}\n$/);
    if (marker) marker.bytes = Buffer.from(`${'X'.repeat(24)}\n`);
    const message = expect.stringContaining('the bucket of results belongs to another database; give each gateway');
    expect(await doctor()).toContainEqual({ check: 'results', level: 'error', message });
    const accepted = await runCommand(['results', 'accept-folder', '--data-dir', gateway.dataDir], { env });
    expect(accepted).toMatchObject({ code: 0, out: expect.stringContaining('s3://results/kept is the bucket') });
    expect(bucket.objects.get('kept/.taskgate-results')?.bytes.toString()).toBe(name);

    bucket.fault = () => s3Error(403, 'AccessDenied');
    expect(await doctor()).toContainEqual({
      check: 'results',
      level: 'error',
      message: 'the files of kept results cannot be read: the bucket rejects the request (403)',
    });
    await root.call('PUT', '/api/option', { key: 'results.s3_redirect', value: 'false' });
    // The vendor still has the file, which a redirect to the bucket would not reach.
    await until('downloads are streamed', async () => (await fetch(kept.content_url)).status === 200);
    const headers = { authorization: `Bearer ${key}` };
    expect((await fetch(`${gateway.url}/v1/videos/${id}/content`, { headers })).status).toBe(200);
    expect(gateway.log()).toContain('result storage is unavailable; asking the vendor instead');
    bucket.fault = undefined;
    expect(existsSync(join(gateway.dataDir, 'results'))).toBe(false);
    expect(readdirSync(join(gateway.dataDir, 'results-upload'))).toEqual([]);
    expect(gateway.log()).not.toContain(SECRET);
    expect(gateway.log()).not.toContain('bucket-key');
  });

  const doctor = async () => {
    const args = ['doctor', '--results', '--verify', '--json', '--data-dir', gateway.dataDir];
    return (JSON.parse((await runCommand(args, { env })).out) as { findings: object[] }).findings;
  };

  test('wait while the bucket refuses: the task succeeds, and the home page tells administrators', async () => {
    bucket.fault = () => s3Error(403, 'AccessDenied');
    const id = await create('b [duration=0.1]');
    await until('the refusal is told', async () => {
      const attention = await root.call('GET', '/api/attention');
      return JSON.stringify(attention).includes('results_blocked');
    });
    expect((await fetch((await readArtifact(id)).content_url)).status).toBe(200);
    bucket.fault = undefined;
    await isKept(id);
  });
});
