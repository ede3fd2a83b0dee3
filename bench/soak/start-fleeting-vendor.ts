import { createDemoVendor } from '../../src/app/demo-vendor/index.ts';
import { systemClock } from '../../src/kernel/index.ts';

/** Bytes that are sent at a time, as a CDN does. */
const PIECE_BYTES = 1024 * 1024;

export type FleetingVendor = {
  url: string;
  /** SHA-256 in hex of the file of a job. */
  digestFor(jobId: string): string;
  answered: { downloads: number; gone: number };
  stop(): Promise<void>;
};

/**
 * The demo vendor with files of `bytes` that are gone `linkMs` after the first poll that says that
 * the job has ended. A file is the same bytes for every job, and then the job's id: so its digest
 * is known without reading it again.
 */
export function startFleetingVendor({ bytes, linkMs }: { bytes: number; linkMs: number }): FleetingVendor {
  const vendor = createDemoVendor({ clock: systemClock });
  const answered = { downloads: 0, gone: 0 };
  const goneAt = new Map<string, number>();
  const piece = new Uint8Array(PIECE_BYTES).map((_, index) => (index * 2_654_435_761) >>> 24);
  const common = new Bun.CryptoHasher('sha256');
  for (let left = bytes; left > 0; left -= PIECE_BYTES) common.update(piece.subarray(0, Math.min(left, PIECE_BYTES)));

  function download(id: string): Response {
    if (performance.now() > (goneAt.get(id) ?? Number.POSITIVE_INFINITY)) {
      answered.gone += 1;
      return Response.json({ error: { code: 'not_found', message: 'The file has expired.' } }, { status: 404 });
    }
    answered.downloads += 1;
    const tail = Buffer.from(id);
    let left = bytes;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (left > 0) controller.enqueue(piece.subarray(0, Math.min(left, PIECE_BYTES)));
        else {
          controller.enqueue(tail);
          controller.close();
        }
        left -= PIECE_BYTES;
      },
    });
    const headers = { 'content-type': 'video/mp4', 'content-length': String(bytes + tail.length) };
    return new Response(body, { headers });
  }

  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 60,
    async fetch(request) {
      const [, id, content] = /\/v1\/jobs\/([^/?]+)(\/content)?$/.exec(new URL(request.url).pathname) ?? [];
      if (id !== undefined && content !== undefined) return download(id);
      const response = await vendor.handle(request);
      if (id === undefined || goneAt.has(id)) return response;
      const { status } = (await response.clone().json()) as { status?: string };
      if (status === 'succeeded') goneAt.set(id, performance.now() + linkMs);
      return response;
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    digestFor: (jobId) => common.copy().update(jobId).digest('hex'),
    answered,
    stop: () => server.stop(true),
  };
}
