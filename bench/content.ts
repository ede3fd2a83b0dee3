import { ask, setUp, startGateway, startVendor, until } from '../test/support/gateway.ts';
import { atLeast, percentile, type Row } from './row.ts';

const BYTES = 256 * 1024 * 1024;
const ROUNDS = 9;
const AIM_SHARE = 0.8;

const WAYS = ['vendor', 'least', 'gateway'] as const;
type Way = (typeof WAYS)[number];

/**
 * Content through the gateway against the same file from the vendor, each by curl, in turns. The
 * vendor has its file in memory, so that every way begins at once. Beside them a proxy that only
 * reads and writes shows what the runtime and the machine leave possible.
 */
export async function benchContent(): Promise<Row[]> {
  const demo = await startVendor();
  const vendor = serveFile(demo.url);
  const gateway = await startGateway();
  const least = await startLeastProxy(vendor.port ?? 0);
  try {
    const admin = await setUp(gateway);
    await admin.createChannel(`http://127.0.0.1:${vendor.port}`);
    const token = await admin.createKey();
    const contentUrl = await makeArtifact(gateway.url, token);
    const path = '/v1/jobs/any/content';
    const urls: Record<Way, string> = {
      vendor: `http://127.0.0.1:${vendor.port}${path}`,
      least: `http://127.0.0.1:${least.port}${path}`,
      gateway: contentUrl,
    };
    const speeds: Record<Way, number[]> = { vendor: [], least: [], gateway: [] };
    for (let round = 0; round <= ROUNDS; round += 1) {
      for (const way of WAYS) {
        const speed = await fetchWithCurl(urls[way]);
        // The first round loads what the others use.
        if (round > 0) speeds[way].push(speed);
      }
    }
    const direct = percentile(speeds.vendor, 0.5);
    const row = (what: string, way: 'gateway' | 'least', aim?: number): Row => {
      const speed = percentile(speeds[way], 0.5);
      const share = speed / direct;
      return {
        what,
        measured: `${speed.toFixed(0)} MB/s; from the vendor ${direct.toFixed(0)} MB/s: ${share.toFixed(2)} of it`,
        ...(aim === undefined ? {} : { aim: atLeast(share, aim, 'of it') }),
        figures: { mb_per_second: speed, vendor_mb_per_second: direct, share },
      };
    };
    return [
      row('content through the gateway, 256 MiB', 'gateway', AIM_SHARE),
      row('content through a proxy that only reads and writes', 'least'),
    ];
  } finally {
    await least.stop();
    await gateway.stop();
    await vendor.stop(true);
    await demo.stop();
  }
}

/** The demo vendor, but for the files of its jobs: whichever is asked for, it is there. */
function serveFile(demoUrl: string) {
  const file = new Response(Buffer.alloc(BYTES, 'content'), { headers: { 'content-type': 'video/mp4' } });
  return Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    routes: { '/v1/jobs/:id/content': file },
    fetch: (request) => fetch(new URL(new URL(request.url).pathname, demoUrl), request),
  });
}

/** A task that has ended; gives the link to its artifact. */
async function makeArtifact(url: string, token: string): Promise<string> {
  const input = { model: 'demo-video', prompt: 'a lighthouse in the fog [instant]' };
  const { body: task } = await ask(`${url}/v1/tasks/demo`, { token, body: input });
  await until('the task has ended', async () => {
    const { body } = await ask(`${url}/v1/tasks/${task.id}`, { token });
    return body.status === 'SUCCESS';
  });
  const { body } = await ask(`${url}/v1/tasks/${task.id}/artifacts`, { token });
  const [artifact] = body.artifacts as { content_url: string }[];
  if (!artifact) throw new Error('the task has no artifact');
  return artifact.content_url;
}

async function startLeastProxy(vendorPort: number): Promise<{ port: number; stop(): Promise<void> }> {
  const file = Bun.fileURLToPath(import.meta.resolve('./least-proxy.ts'));
  const child = Bun.spawn([process.execPath, file, String(vendorPort)], { stdin: 'ignore', stdout: 'pipe' });
  const { value } = await child.stdout.getReader().read();
  return {
    port: Number(new TextDecoder().decode(value)),
    async stop() {
      child.kill('SIGKILL');
      await child.exited;
    },
  };
}

/** MB a second, MB = 10^6 bytes. */
async function fetchWithCurl(url: string): Promise<number> {
  const child = Bun.spawn(
    ['curl', '-sS', '--fail', '-o', '/dev/null', '-w', '%{size_download} %{speed_download}', url],
    {
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    },
  );
  const [figures, complaint, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  const [size, speed] = figures.split(' ').map(Number);
  if (code !== 0 || size !== BYTES || !speed) throw new Error(`curl gave ${size} bytes: ${complaint}`);
  return speed / 1e6;
}
