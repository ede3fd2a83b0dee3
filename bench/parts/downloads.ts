import { performance } from 'node:perf_hooks';
import { ask } from '../../test/support/gateway.ts';
import { type Figure, higher, lower, type Measured, note, percentile, row } from '../figures.ts';
import { formatRequest } from '../load/http-client.ts';
import { CONNECTIONS, measureRequests } from '../load/measure-requests.ts';
import { startScript } from '../load/start-script.ts';
import type { Run } from '../part.ts';
import { openStage, type Stage } from '../stage.ts';

/** So many that no limit is met. */
const NO_LIMITS = {
  TASK_ARTIFACT_GLOBAL_CONCURRENCY: '1000',
  TASK_ARTIFACT_IP_CONCURRENCY: '1000',
  TASK_ARTIFACT_OBJECT_CONCURRENCY: '1000',
};
const SMALL_BYTES = 1024;
const MEBIBYTE = 1024 * 1024;
const LARGE_BYTES = 64 * MEBIBYTE;
const ROUNDS = 9;
/** The share of the vendor's own speed that must remain. */
const AIM_SHARE = 0.8;
/** Longer than the gateway keeps an idle connection to a vendor. */
const PAUSE_MS = 5_000;
const PAUSES = 4;
/** More than the vendor takes itself. */
const AIM_FIRST_BYTE_MS = 2;
const WARM_FETCHES = 30;

const WAYS = ['vendor', 'least', 'gateway'] as const;
type Way = (typeof WAYS)[number];

/** Results handed through from the vendor, which has them in memory. */
export async function benchDownloads({ build, seconds }: Run): Promise<Figure[]> {
  const stage = await openStage(build, NO_LIMITS);
  try {
    const [small, middle, large] = await Promise.all([
      makeFile(stage, SMALL_BYTES),
      makeFile(stage, MEBIBYTE),
      makeFile(stage, LARGE_BYTES),
    ]);
    const rates: Figure[] = [];
    for (const connections of [1, CONNECTIONS]) {
      const text = formatRequest('GET', small.path);
      rates.push(
        ...(await measureRequests({
          what: `download of 1 KB, ${connections} at once`,
          gateway: stage.gateway,
          seconds,
          connections,
          next: () => text,
        })),
      );
    }
    return [...rates, ...(await measureFirstByte(stage, middle)), ...(await measureSpeed(stage, large))];
  } finally {
    await stage.stop();
  }
}

type StoredFile = { path: string; vendorPath: string; bytes: number };

/** A task that has ended with a file of this size. */
async function makeFile(stage: Stage, bytes: number): Promise<StoredFile> {
  const { url } = stage.gateway;
  const task = await stage.submit(`a lighthouse in the fog [file=${bytes}]`);
  const { body } = await ask(`${url}/v1/tasks/${task}/artifacts`, { token: stage.key });
  const [artifact] = (body.artifacts ?? []) as { content_url: string }[];
  if (!artifact) throw new Error(`a task without an artifact: ${JSON.stringify(body)}`);
  const { pathname, search } = new URL(artifact.content_url);
  return { path: `${pathname}${search}`, vendorPath: `/v1/jobs/done-0-${bytes}/content`, bytes };
}

/** From the vendor and through the gateway: the gateway can only add to what the vendor takes. */
async function measureFirstByte({ gateway, vendor }: Stage, file: StoredFile): Promise<Figure[]> {
  const urls = { vendor: `${vendor.url}${file.vendorPath}`, gateway: `${gateway.url}${file.path}` };
  const warm: Waits = { vendor: [], gateway: [] };
  for (let i = 0; i < WARM_FETCHES; i += 1)
    for (const way of ['vendor', 'gateway'] as const) warm[way].push(await awaitFirstByte(urls[way]));
  const paused: Waits = { vendor: [], gateway: [] };
  for (let i = 0; i < PAUSES; i += 1) {
    for (const way of ['vendor', 'gateway'] as const) {
      await Bun.sleep(PAUSE_MS);
      paused[way].push(await awaitFirstByte(urls[way]));
    }
  }
  const pause = `after ${PAUSE_MS / 1000} s without any`;
  return row(
    'first byte of a download',
    [...showWaits('warm', warm), ...showWaits(pause, paused)],
    Object.fromEntries(['warm', pause].map((when) => [`${when}, after the vendor's`, AIM_FIRST_BYTE_MS])),
  );
}

type Waits = Record<'vendor' | 'gateway', number[]>;

function showWaits(when: string, { vendor, gateway }: Waits): Measured[] {
  const [own, through] = [percentile(vendor, 0.5), percentile(gateway, 0.5)];
  return [
    lower(when, through, 'ms'),
    note(`${when}, the vendor's own`, own, 'ms'),
    lower(`${when}, after the vendor's`, through - own, 'ms'),
  ];
}

async function awaitFirstByte(url: string): Promise<number> {
  const begun = performance.now();
  const response = await fetch(url);
  const reader = response.body?.getReader();
  await reader?.read();
  const took = performance.now() - begun;
  while ((await reader?.read())?.done === false);
  if (response.status !== 200) throw new Error(`a download was answered ${response.status}`);
  return took;
}

/**
 * One client at a time, by curl, in turns with the vendor's own answer; beside them a proxy that
 * only reads and writes shows what the runtime and the machine leave possible.
 */
async function measureSpeed({ gateway, vendor }: Stage, file: StoredFile): Promise<Figure[]> {
  const least = await startScript('least/proxy.ts', [String(vendor.port)]);
  try {
    const urls: Record<Way, string> = {
      vendor: `${vendor.url}${file.vendorPath}`,
      least: `${least.url}${file.vendorPath}`,
      gateway: `${gateway.url}${file.path}`,
    };
    const speeds: Record<Way, number[]> = { vendor: [], least: [], gateway: [] };
    for (let round = 0; round <= ROUNDS; round += 1) {
      for (const way of WAYS) {
        const speed = await fetchWithCurl(urls[way], file.bytes);
        // The first round loads what the others use.
        if (round > 0) speeds[way].push(speed);
      }
    }
    const [direct, proxy, through] = WAYS.map((way) => percentile(speeds[way], 0.5)) as [number, number, number];
    return row(
      'download of 64 MiB',
      [
        higher('speed', through, 'MB/s'),
        higher("share of the vendor's own", through / direct, ''),
        note('from the vendor', direct, 'MB/s'),
        note('through the least proxy', proxy, 'MB/s'),
      ],
      { "share of the vendor's own": AIM_SHARE },
    );
  } finally {
    await least.stop();
  }
}

/** MB a second, MB = 10^6 bytes. */
async function fetchWithCurl(url: string, bytes: number): Promise<number> {
  const format = '%{size_download} %{speed_download}';
  const child = Bun.spawn(['curl', '-sS', '--fail', '-o', '/dev/null', '-w', format, url], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [figures, complaint, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const [size, speed] = figures.split(' ').map(Number);
  if (code !== 0 || size !== bytes || !speed) throw new Error(`curl gave ${size} bytes: ${complaint}`);
  return speed / 1e6;
}
