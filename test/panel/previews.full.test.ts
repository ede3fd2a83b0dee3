/**
 * Previews that a real browser draws: a frame, a smaller image and a waveform, with a cover beside
 * it. They are in a bucket and come from the origin of results.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { drawScene } from '../../src/app/demo-vendor/serve-video.ts';
import { addArtifactPlugins, startVendor } from '../http/v1/artifact-harness.ts';
import { freePort } from '../support/free-port.ts';
import { type Gateway, ROOT } from '../support/gateway.ts';
import { S3_KEYS, startS3Server } from '../support/s3-server.ts';
import { makePng } from '../support/still-images.ts';
import { until } from '../support/until.ts';
import { usePanel } from './harness.ts';

/** Two seconds of a tone that begins loud and ends softly. */
function makeWave(): Buffer {
  const samples = 2 * 22_050;
  const header = Buffer.alloc(44);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(36 + 2 * samples, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(22_050, 24);
  header.writeUInt32LE(44_100, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(2 * samples, 40);
  const data = Buffer.alloc(2 * samples);
  for (let n = 0; n < samples; n += 1) {
    data.writeInt16LE(Math.round(30_000 * (1 - n / samples) * Math.sin(n / 8)), 2 * n);
  }
  return Buffer.concat([header, data]);
}

const vendor = startVendor();
const bucket = await startS3Server();
const resultsPort = await freePort();
const results = `http://localhost:${resultsPort}`;
afterAll(async () => {
  await vendor.stop();
  await bucket.stop();
});

let key = '';
const panel = usePanel(
  async (root) => {
    vendor.files.set('/image.png', makePng({ width: 1024, height: 768 }));
    vendor.files.set('/cover.png', makePng({ width: 300, height: 300 }));
    vendor.files.set('/sound.wav', makeWave());
    vendor.files.set('/film.mp4', drawScene('a boat on a lake'));
    await addArtifactPlugins(root, vendor.url);
    await root.call('PUT', '/api/option', { key: 'results.keep', value: 'all' });
    await root.call('PUT', '/api/option', { key: 'results.s3_redirect', value: 'true' });
    key = await root.createKey({});
  },
  {
    UPSTREAM_ALLOW_PRIVATE: 'true',
    RESULTS_URL: `s3://results/kept?endpoint=${bucket.url}`,
    RESULTS_S3_ACCESS_KEY_ID: S3_KEYS.accessKeyId,
    RESULTS_S3_SECRET_ACCESS_KEY: S3_KEYS.secretAccessKey,
    RESULTS_MIN_FREE_MB: '0',
    RESULTS_ORIGIN: results,
    RESULTS_PORT: String(resultsPort),
  },
);

type Preview = { url: string; width: number; height: number; type: string };
type Listed = { key: string; kept?: string; preview?: Preview; cover?: Preview };

async function list({ url }: Gateway, id: string): Promise<Listed[]> {
  const answer = await fetch(`${url}/v1/tasks/${id}/artifacts`, { headers: { authorization: `Bearer ${key}` } });
  return ((await answer.json()) as { artifacts: Listed[] }).artifacts;
}

async function make(artifacts: Record<string, { type: string; url: string }>): Promise<string> {
  const answer = await fetch(`${panel.gateway().url}/v1/tasks/acme`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'acme-1',
      list: Object.entries(artifacts).map(([name, { type }]) => ({ key: name, type })),
      contents: Object.fromEntries(Object.entries(artifacts).map(([name, { url }]) => [name, { url }])),
    }),
  });
  const { id } = (await answer.json()) as { id: string };
  await until('its results are in the bucket', async () =>
    (await list(panel.gateway(), id)).every(({ kept }) => kept === 'kept'),
  );
  return id;
}

/**
 * Opens a page where this browser draws, and waits for a preview of the artifact. The list draws
 * where there is no picture at all, the task's page what is missing.
 */
async function drawn(page: Page, id: string, artifact: string): Promise<Preview> {
  await page.goto(`${panel.origin()}/tasks${artifact === 'audio' ? `/${id}` : ''}`);
  return until(`a preview of ${artifact}`, async () => {
    const found = await list(panel.gateway(), id);
    return found.find(({ key: name }) => name === artifact)?.preview;
  });
}

describe('a browser draws', () => {
  test.each([
    ['a smaller copy of an image', 'image', { image: { type: 'image', url: '/image.png' } }, [512, 384]],
    ['a frame of a video', 'video', { video: { type: 'video', url: '/film.mp4' } }, null],
    [
      'the waveform of a sound, beside its cover',
      'audio',
      { audio: { type: 'audio', url: '/sound.wav' }, cover: { type: 'image', url: '/cover.png' } },
      [512, 128],
    ],
  ] as const)('%s', async (_name, artifact, artifacts, size) => {
    const id = await make(artifacts);
    const { page, complaints } = await panel.openAs(ROOT, '/tasks');
    const preview = await drawn(page, id, artifact);
    if (size) expect([preview.width, preview.height]).toEqual([...size]);
    expect(preview.type).toBe('image/webp');
    expect(new URL(preview.url).origin).toBe(results);
    const shown = await fetch(preview.url);
    expect([shown.status, shown.headers.get('content-type')]).toEqual([200, 'image/webp']);
    const bytes = await shown.bytes();

    // The page of the task shows it, and its pixels are there.
    await page.goto(`${panel.origin()}/tasks/${id}`);
    if (artifact === 'video') {
      expect(await page.locator('video').getAttribute('poster')).toContain('preview%3Avideo');
    }
    if (artifact === 'audio') {
      const stills = page.locator('img[loading=lazy]');
      await until('cover and waveform are shown', () =>
        stills.evaluateAll(
          (images) => images.length === 2 && images.every((one) => (one as HTMLImageElement).naturalWidth > 0),
        ),
      );
      expect(
        await stills.evaluateAll((images) => images.map((one) => (one as HTMLImageElement).naturalHeight)),
      ).toEqual([300, 128]);
    }
    expect(bytes.length).toBeGreaterThan(100);
    // The bucket has the preview under its digest, and not only the results.
    const digest = new Bun.CryptoHasher('sha256').update(bytes).digest('hex');
    expect(await Bun.file(`${bucket.folder}/kept/${digest}`).exists()).toBe(true);
    // That origin is the only foreign one.
    await page.goto('about:blank');
    const foreign = complaints.splice(0).filter((one) => !one.startsWith(`foreign request: ${results}/`));
    expect(foreign).toEqual([]);
  });
});
