/** Previews that the system's ffmpeg makes of kept results: a stand-in for it, and the real one. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { chmodSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newUuid } from '../../../src/kernel/index.ts';
import { IS_FULL_RUN } from '../../support/full-run.ts';
import { ask } from '../../support/gateway.ts';
import { runCommand } from '../../support/run-command.ts';
import { makeJpeg, makeWebp } from '../../support/still-images.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { until } from '../../support/until.ts';
import { type ArtifactGateway, startArtifactGateway } from './artifact-harness.ts';

setDefaultTimeout(90_000);

type Preview = { url: string; width: number; height: number; type: string };
type Listed = { key: string; preview?: Preview; kept?: string };

const realFfmpeg = Bun.which('ffmpeg');
const folder = temporaryFolder();
const program = join(folder, 'ffmpeg');
const dataUrl = (type: string, bytes: Uint8Array) => `data:${type};base64,${Buffer.from(bytes).toString('base64')}`;
const octal = (bytes: Uint8Array) => [...bytes].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
/** What only looks like a video, and another one each time: equal files are kept once. */
const video = () => Buffer.concat([Buffer.from('\0\0\0\x18ftypisom', 'latin1'), Buffer.from(`video ${newUuid()}`)]);

let world: ArtifactGateway;
beforeAll(async () => {
  world = await startArtifactGateway({
    UPSTREAM_ALLOW_PRIVATE: 'true',
    RESULTS_MIN_FREE_MB: '0',
    PATH: folder,
  });
  await world.admin.call('PUT', '/api/option', { key: 'results.keep', value: 'all' });
});
afterAll(() => world.stop());

/** Replaces what `ffmpeg` is, as a package manager does. */
function install(script: string): void {
  writeFileSync(`${program}.new`, `#!/bin/sh\nif [ "$1" = -version ]; then exit 0; fi\n${script}\n`);
  chmodSync(`${program}.new`, 0o755);
  renameSync(`${program}.new`, program);
}

type Ffmpeg = { state: string; path: string | null; fault: string | null; made: number; failed: number };
const ffmpeg = async (): Promise<Ffmpeg> => ((await world.admin.call('GET', '/api/node')) as { ffmpeg: Ffmpeg }).ffmpeg;
const attention = async () => JSON.stringify(await world.admin.call('GET', '/api/attention'));
async function use(value: boolean): Promise<void> {
  await world.admin.call('PUT', '/api/option', { key: 'results.ffmpeg', value: String(value) });
  await until('the option counts', async () => ((await ffmpeg()).state === 'off') !== value);
}

const list = async (id: string): Promise<Listed[]> =>
  (await world.get(`/v1/tasks/${id}/artifacts`, { token: world.key })).json.artifacts as Listed[];
const make = (url: string, type: 'video' | 'audio' = 'video') =>
  world.finished({ list: [{ key: type, type }], content: { url } });
const isKept = (id: string) =>
  until('the result is kept', async () => (await list(id)).find(({ kept }) => kept === 'kept'));
const previewOf = (id: string): Promise<Preview> =>
  until('a preview', async () => (await list(id)).find(({ preview }) => preview !== undefined)?.preview);
const here = (url: string): string => `${world.url}${new URL(url).pathname}${new URL(url).search}`;
const offer = (id: string, image: Uint8Array) =>
  ask(`${world.url}/api/task/${id}/artifacts/video/preview`, {
    method: 'POST',
    token: world.admin.token,
    body: { image: Buffer.from(image).toString('base64') },
  });
const noted = (reason: string) => until('the fault is logged', async () => world.gateway.log().includes(reason));
/** How often something stands in the log. */
const times = (text: string): number => world.gateway.log().split(text).length - 1;

describe.skipIf(process.platform !== 'linux')('previews by ffmpeg', () => {
  test('are off until an administrator wants them, and say where none is installed', async () => {
    expect(await ffmpeg()).toMatchObject({ state: 'off' });
    const doctor = async () =>
      (await runCommand(['doctor', '--data-dir', world.gateway.dataDir], { env: { PATH: folder } })).out;
    expect(await doctor()).toContain('ffmpeg: not used (results.ffmpeg is off); there is none on the PATH');
    install('exit 1');
    expect(await ffmpeg()).toMatchObject({ state: 'off', path: program });
    expect(await doctor()).toContain(`ffmpeg: not used (results.ffmpeg is off); ${program} is there`);
    await use(true);
    expect(await doctor()).toContain(`ffmpeg: ${program} makes previews`);
    rmSync(program);
    expect(await doctor()).toContain('warning  ffmpeg: results.ffmpeg is on, but there is no ffmpeg on the PATH');
    await use(false);
  });

  test('are made of the kept file alone, and of nothing that somebody else’s file names', async () => {
    const jpeg = await makeJpeg(320, 180);
    // The picture comes only where no argument names an address and the file is the kept one.
    install(`case "$*" in *http*) exit 9;; esac
case "$*" in *"-protocol_whitelist file -format_whitelist mov "*"-i file:/proc/self/fd/0"*) ;; *) exit 8;; esac
read -r line < /proc/self/fd/0; case "$line" in *video*) ;; *) exit 7;; esac
printf '${octal(jpeg)}'`);
    await use(true);
    const id = await make(dataUrl('video/mp4', video()));
    // Nobody has looked at the task yet.
    await until('a still was made', async () => (await ffmpeg()).made === 1);
    const preview = await previewOf(id);
    expect(preview).toMatchObject({ width: 320, height: 180, type: 'image/jpeg' });
    expect((await fetch(here(preview.url))).headers.get('content-type')).toBe('image/jpeg');
    const playlist = Buffer.from('#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile:///etc/passwd\n');
    const listed = await make(dataUrl('video/mp4', playlist));
    await isKept(listed);
    const plain = await make(dataUrl('video/mp4', video()));
    await previewOf(plain);
    expect((await list(listed))[0]?.preview).toBeUndefined();
    expect(await ffmpeg()).toMatchObject({ made: 2, failed: 0 });
  });

  test('that are a page, too large or none at all are refused, told once, and left to browsers', async () => {
    const stranger = 'printf "<script>alert(1)</script>"';
    const flood = 'while :; do echo 0123456789012345678901234567890123456789; done';
    const reasons = {
      [stranger]: '',
      [flood]: 'it wrote more than 65536 bytes',
      'echo broken >&2; exit 187': 'broken',
    };
    const ids: string[] = [];
    for (const [script, reason] of Object.entries(reasons)) {
      install(script);
      const before = await ffmpeg();
      const id = await make(dataUrl('video/mp4', video()));
      await isKept(id);
      await until('it was tried', async () => {
        const { made: good, failed } = await ffmpeg();
        return good + failed > before.made + before.failed;
      });
      if (reason !== '') await noted(reason);
      ids.push(id);
    }
    install('exit 1');
    for (const id of ids) {
      expect((await list(id))[0]).toMatchObject({ kept: 'kept' });
      expect((await list(id))[0]?.preview).toBeUndefined();
    }
    const logged = times('ffmpeg made no preview');
    expect(logged).toBe(2);
    const [first = ''] = ids;
    expect((await offer(first, await makeWebp(64, 36))).status).toBe(200);
    expect(await previewOf(first)).toMatchObject({ width: 64, height: 36 });
    expect(times('ffmpeg made no preview')).toBe(logged);
  });

  test('stop where ffmpeg is removed: administrators are told, the results are kept', async () => {
    rmSync(program);
    await use(false);
    await use(true);
    expect(await ffmpeg()).toMatchObject({ state: 'unusable', fault: 'there is no ffmpeg on the PATH' });
    expect(await attention()).toContain('ffmpeg_unusable');
    const id = await make(dataUrl('video/mp4', video()));
    await isKept(id);
    expect((await offer(id, await makeWebp(64, 36))).status).toBe(200);
    expect(times('ffmpeg cannot be used')).toBe(1);
    await use(false);
    expect(await attention()).not.toContain('ffmpeg_unusable');
  });

  // Where it is installed; the stand-in above shows the rules.
  test.skipIf(!IS_FULL_RUN || realFfmpeg === null)('by the real ffmpeg show a frame and a waveform', async () => {
    const encode = (args: string[], name: string): Buffer => {
      const path = join(folder, name);
      const { exitCode, stderr } = Bun.spawnSync([realFfmpeg ?? '', '-y', '-loglevel', 'error', ...args, path]);
      expect([exitCode, stderr.toString()]).toEqual([0, '']);
      return readFileSync(path);
    };
    const source = 'testsrc=size=1280x720:rate=10:duration=3';
    const film = encode(['-f', 'lavfi', '-i', source, '-pix_fmt', 'yuv420p'], 'film.mp4');
    const webm = encode(['-f', 'lavfi', '-i', source, '-c:v', 'libvpx'], 'film.webm');
    const sound = encode(['-f', 'lavfi', '-i', 'sine=frequency=440:duration=2'], 'sound.mp3');
    writeFileSync(`${program}.new`, '');
    rmSync(`${program}.new`);
    rmSync(program, { force: true });
    // Not the link: what it leads to is in the folders of the system.
    symlinkSync(realFfmpeg ?? '', program);
    await use(true);
    expect(await ffmpeg()).toMatchObject({ state: 'ready' });
    const files = { '/film': film, '/webm': webm, '/sound': sound, '/broken': film.subarray(0, 2000) };
    for (const [path, bytes] of Object.entries(files)) world.vendor.files.set(path, bytes);
    for (const name of ['/film', '/webm']) {
      const preview = await previewOf(await make(name));
      expect(preview).toMatchObject({ width: 512, height: 288, type: 'image/jpeg' });
      const picture = await (await fetch(here(preview.url))).bytes();
      // A test card has many details: one colour would be a tenth of this.
      expect(picture.length).toBeGreaterThan(5000);
    }
    const wave = await previewOf(await make('/sound', 'audio'));
    expect(wave).toMatchObject({ width: 512, height: 128, type: 'image/png' });
    const { failed } = await ffmpeg();
    await isKept(await make('/broken'));
    await until('a broken file was tried', async () => (await ffmpeg()).failed === failed + 1);
  });
});
