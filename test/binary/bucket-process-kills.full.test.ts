import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createDemoVendor } from '../../src/app/demo-vendor/index.ts';
import { sha256Hex, systemClock } from '../../src/kernel/index.ts';
import { ask, setUp, startGateway } from '../support/gateway.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { runCommand } from '../support/run-command.ts';
import { S3_KEYS, startS3Server } from '../support/s3-server.ts';
import { until } from '../support/until.ts';

describe('the executable with a bucket of versitygw', () => {
  const VENDOR_KEY = 'vendor-key-0123456789';
  type Artifact = { content_url: string; kept?: string; sha256?: string };

  test('killed in the middle of an upload, keeps the result after its next start, once and whole', async () => {
    const server = await startS3Server();
    const vendor = await createDemoVendor({ clock: systemClock, key: VENDOR_KEY, durationMs: 100 }).start(0);
    const env = {
      RESULTS_URL: `s3://results/kept?endpoint=${server.url}`,
      RESULTS_S3_ACCESS_KEY_ID: S3_KEYS.accessKeyId,
      RESULTS_S3_SECRET_ACCESS_KEY: S3_KEYS.secretAccessKey,
      RESULTS_MIN_FREE_MB: '0',
    };
    let gateway = await startGateway({ env });
    const root = await setUp(gateway);
    const channel = { name: 'demo', type: 61, task_plugin_key: 'demo', base_url: vendor.url, key: VENDOR_KEY };
    await root.call('POST', '/api/channel', { ...channel, models: ['demo-video'] });
    await root.call('PUT', '/api/option', { key: 'results.keep', value: 'all' });
    const key = await root.createKey({});
    const artifactFor = (id: string) =>
      until('the result is kept', async () => {
        const { body: answer } = await ask(`${gateway.url}/v1/tasks/${id}/artifacts`, { token: key });
        const [found] = answer.artifacts as Artifact[];
        return found?.kept === 'kept' && found;
      });
    const small = await submit(gateway.url, key, { prompt: 'a [duration=0.1] [bytes=3000]' });
    // Marks the bucket, which must answer for that.
    const first = await artifactFor(String(small.body.id));
    const spool = join(gateway.dataDir, 'results-upload');
    rmSync(spool, { recursive: true });
    // Holds the upload open: the server takes what its socket takes, and no more.
    server.pause();
    const { body } = await submit(gateway.url, key, { prompt: 'a [duration=0.1] [bytes=30000000]' });
    const id = String(body.id);
    await until('the copy is on its way', () => existsSync(spool));
    await waitForEnd(gateway.url, key, id);
    await gateway.kill();
    expect(readdirSync(spool)).toEqual([]);
    server.resume();
    gateway = await startGateway({ env, dataDir: gateway.dataDir, port: gateway.port });
    const artifact = await artifactFor(id);
    await vendor.stop();
    expect(sha256Hex(await (await fetch(artifact.content_url)).bytes())).toBe(artifact.sha256 ?? '');
    const names = ['.taskgate-results', first.sha256 ?? '', artifact.sha256 ?? ''];
    expect(readdirSync(join(server.folder, 'kept')).sort()).toEqual(names.sort());
    await root.call('PUT', '/api/option', { key: 'results.s3_redirect', value: 'true' });
    const redirect = await until('downloads are redirected', async () => {
      const answer = await fetch(artifact.content_url, { redirect: 'manual' });
      return answer.status === 302 && answer;
    });
    const direct = await fetch(redirect.headers.get('location') ?? '', { headers: { range: 'bytes=0-99' } });
    expect([direct.status, direct.headers.get('content-type')]).toEqual([206, 'video/mp4']);
    const args = ['doctor', '--results', '--verify', '--json', '--data-dir', gateway.dataDir];
    const { out } = await runCommand(args, { env });
    expect(out).toContain('2 files of kept results (');
    await gateway.stop();
    await server.stop();
  });
});
