/** Who is told when a result cannot be kept, and what its task and its link do in the meantime. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createDemoVendor } from '../../src/app/demo-vendor/index.ts';
import { sha256Hex, systemClock } from '../../src/kernel/index.ts';
import { freePort } from '../support/free-port.ts';
import { type Administrator, ask, type Gateway, setUp, startGateway } from '../support/gateway.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { type S3StandIn, startS3StandIn } from '../support/s3-stand-in.ts';
import { until } from '../support/until.ts';

type Artifact = { content_url: string; kept?: string; kept_reason?: string; sha256?: string };

describe('a result that is not kept', () => {
  let vendor: { url: string; stop(): Promise<void> };
  beforeAll(async () => {
    vendor = await createDemoVendor({ clock: systemClock, durationMs: 100 }).start(0);
  });
  afterAll(() => vendor.stop());

  async function open(env: Record<string, string>) {
    const gateway = await startGateway({ env });
    const root = await setUp(gateway);
    await root.createChannel(vendor.url);
    await root.call('PUT', '/api/option', { key: 'results.keep', value: 'all' });
    return { gateway, root, key: await root.createKey({}) };
  }
  async function make({ gateway, key }: { gateway: Gateway; key: string }): Promise<string> {
    const { body } = await submit(gateway.url, key, { prompt: 'a [duration=0.1] [bytes=100000]' });
    expect(await waitForEnd(gateway.url, key, String(body.id))).toMatchObject({ status: 'SUCCESS' });
    return String(body.id);
  }
  const readArtifact = async ({ url }: Gateway, key: string, id: string): Promise<Artifact> => {
    const { body } = await ask(`${url}/v1/tasks/${id}/artifacts`, { token: key });
    return (body.artifacts as Artifact[])[0] ?? expect.unreachable();
  };
  const attention = async (root: Administrator) => JSON.stringify(await root.call('GET', '/api/attention'));

  test('for want of room on the disk is told to administrators, and for want of quota to its owner alone', async () => {
    const opened = await open({ RESULTS_MIN_FREE_MB: '1000000000' });
    const { gateway, root, key } = opened;
    const full = await make(opened);
    const waiting = await until('the owner is told', async () => {
      const found = await readArtifact(gateway, key, full);
      return found.kept_reason !== undefined && found;
    });
    expect(waiting).toMatchObject({ kept: 'pending', kept_reason: 'The storage for results is full.' });
    expect((await fetch(waiting.content_url)).status).toBe(200);
    expect(await attention(root)).toContain('results_blocked');
    const { dataDir, port } = gateway;
    await gateway.stop();

    const again = await startGateway({ dataDir, port, env: { RESULTS_MIN_FREE_MB: '0' } });
    await root.call('PUT', '/api/option', { key: 'results.quota_gb', value: '{"default":0.00001}' });
    const refused = await make(opened);
    const over = await until('the owner is told', async () => {
      const found = await readArtifact(again, key, refused);
      return found.kept_reason !== undefined && found;
    });
    expect(over.kept_reason).toMatch(/account's storage/);
    expect((await fetch(over.content_url)).status).toBe(200);
    expect(await attention(root)).not.toContain('results_blocked');
    await again.stop();
  });

  test('by the gateway but by a bucket is sent there from the origin of results, never from the panel’s', async () => {
    const bucket: S3StandIn = startS3StandIn();
    const resultsPort = await freePort();
    const opened = await open({
      RESULTS_URL: `s3://results/kept?endpoint=${bucket.url}`,
      RESULTS_S3_ACCESS_KEY_ID: 'bucket-key',
      RESULTS_S3_SECRET_ACCESS_KEY: 'bucket-secret-0123456789',
      RESULTS_MIN_FREE_MB: '0',
      RESULTS_ORIGIN: `http://127.0.0.1:${resultsPort}`,
      RESULTS_PORT: String(resultsPort),
    });
    const { gateway, root, key } = opened;
    await root.call('PUT', '/api/option', { key: 'results.s3_redirect', value: 'true' });
    const id = await make(opened);
    const kept = await until('the result is kept', async () => {
      const found = await readArtifact(gateway, key, id);
      return found.kept === 'kept' && found;
    });
    expect(new URL(kept.content_url).port).toBe(String(resultsPort));
    const ofResults = await fetch(kept.content_url, { redirect: 'manual' });
    expect([ofResults.status, new URL(ofResults.headers.get('location') ?? '').origin]).toEqual([302, bucket.url]);
    const { pathname, search } = new URL(kept.content_url);
    const ofPanel = await fetch(`${gateway.url}${pathname}${search}`, { redirect: 'manual' });
    expect([ofPanel.status, ofPanel.headers.get('location')]).toEqual([307, kept.content_url]);
    expect(sha256Hex(await (await fetch(`${gateway.url}${pathname}${search}`)).bytes())).toBe(kept.sha256 ?? '');
    const headers = { authorization: `Bearer ${key}` };
    const byKey = await fetch(`${gateway.url}/v1/videos/${id}/content`, { headers, redirect: 'manual' });
    expect([byKey.status, new URL(byKey.headers.get('location') ?? '').origin]).toEqual([302, bucket.url]);
    await gateway.stop();
    await bucket.stop();
  });
});
