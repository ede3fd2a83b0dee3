import { performance } from 'node:perf_hooks';
import { ask, until } from '../test/support/gateway.ts';
import { atLeast, type Row } from './row.ts';
import { openStage } from './stage.ts';

/** As much as the demo vendor's largest file. */
const MIB = 1024 * 1024;
const BYTES = 64 * MIB;
const ROUNDS = 5;
const AIM_SHARE = 0.8;

/** Content through the gateway against the same file from the vendor, each by curl, in turns. */
export async function benchContent(): Promise<Row[]> {
  const stage = await openStage();
  const { gateway, vendor, key } = stage;
  try {
    const id = await stage.submit(`a lighthouse in the fog [instant] [bytes=${BYTES}]`);
    await until('the task has ended', async () => {
      const { body } = await ask(`${gateway.url}/v1/tasks/${id}`, { token: key });
      return body.status === 'SUCCESS';
    });
    const { jobs } = (await vendor.stats(id)) as { jobs: { id: string }[] };
    const { body } = await ask(`${gateway.url}/v1/tasks/${id}/artifacts`, { token: key });
    const [artifact] = body.artifacts as { content_url: string }[];
    const ways = {
      gateway: { url: artifact?.content_url ?? '', header: '' },
      vendor: { url: `${vendor.url}/v1/jobs/${jobs[0]?.id}/content`, header: 'authorization: Bearer demo-vendor-key' },
    };
    const speeds = { gateway: [] as number[], vendor: [] as number[] };
    for (let round = 0; round <= ROUNDS; round += 1) {
      for (const way of ['vendor', 'gateway'] as const) {
        const speed = await fetchWithCurl(ways[way]);
        // The first round loads what the others use.
        if (round > 0) speeds[way].push(speed);
      }
    }
    const [through, direct] = [middle(speeds.gateway), middle(speeds.vendor)];
    const share = through / direct;
    return [
      {
        what: 'content through the gateway, 64 MiB',
        measured: `${through.toFixed(0)} MB/s; from the vendor ${direct.toFixed(0)} MB/s: ${share.toFixed(2)} of it`,
        aim: atLeast(share, AIM_SHARE, 'of it'),
        figures: { mb_per_second: through, vendor_mb_per_second: direct, share },
      },
    ];
  } finally {
    await stage.stop();
  }
}

/** MB a second, MB = 10^6 bytes. */
async function fetchWithCurl({ url, header }: { url: string; header: string }): Promise<number> {
  const begun = performance.now();
  const child = Bun.spawn(
    ['curl', '-sS', '--fail', '-o', '/dev/null', '-w', '%{size_download}', ...(header ? ['-H', '@-'] : []), url],
    { stdin: new TextEncoder().encode(header), stdout: 'pipe', stderr: 'pipe' },
  );
  const [size, complaint, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0 || Number(size) < BYTES * 0.9) throw new Error(`curl gave ${size} bytes: ${complaint}`);
  return Number(size) / 1e6 / ((performance.now() - begun) / 1000);
}

const middle = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;
