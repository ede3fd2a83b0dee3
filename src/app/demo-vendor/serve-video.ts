import { sha256Hex } from '../../kernel/index.ts';
import { drawScene, drawTiny } from './draw-scene.ts';
import type { Job } from './jobs.ts';

const BOX_HEADER_BYTES = 8;

/**
 * The scene of the prompt with the job's id in a `free` box at its end, so that no two jobs have
 * the same bytes.
 * Players skip the box.
 */
function makeVideo(job: Job): Uint8Array {
  const scene = drawScene(job.prompt);
  const isSmaller = job.script.bytes > 0 && job.script.bytes < scene.length;
  const sample = isSmaller ? drawTiny() : scene;
  const id = Buffer.from(job.id);
  const payload = Math.max(id.length, job.script.bytes - sample.length - BOX_HEADER_BYTES);
  const video = Buffer.alloc(sample.length + BOX_HEADER_BYTES + payload);
  video.set(sample);
  video.writeUInt32BE(BOX_HEADER_BYTES + payload, sample.length);
  video.write('free', sample.length + 4, 'latin1');
  video.set(id, sample.length + BOX_HEADER_BYTES);
  return video;
}

/** Answers GET and HEAD with one range at most, and conditional requests (RFC 9110 13 and 14). */
export function serveVideo(job: Job, request: Request): Response {
  const video = makeVideo(job);
  const etag = `"${sha256Hex(video).slice(0, 32)}"`;
  const headers = { 'content-type': 'video/mp4', 'accept-ranges': 'bytes', etag, 'cache-control': 'private' };
  const body = (bytes: Uint8Array) => (request.method === 'HEAD' ? null : new Uint8Array(bytes));

  const knownTags = (request.headers.get('if-none-match') ?? '').split(',').map((tag) => tag.trim());
  if (knownTags.includes(etag)) return new Response(null, { status: 304, headers });
  const ifRange = request.headers.get('if-range');
  const range =
    ifRange === null || ifRange === etag ? readRange(request.headers.get('range'), video.length) : undefined;
  if (range === 'unsatisfiable') {
    return new Response(null, { status: 416, headers: { ...headers, 'content-range': `bytes */${video.length}` } });
  }
  const [first, last] = range ?? [0, video.length - 1];
  const length = { 'content-length': String(last - first + 1) };
  if (!range) return new Response(body(video), { headers: { ...headers, ...length } });
  return new Response(body(video.subarray(first, last + 1)), {
    status: 206,
    headers: { ...headers, ...length, 'content-range': `bytes ${first}-${last}/${video.length}` },
  });
}

/** First and last byte of a single range; `undefined` for none or for a form to be ignored. */
function readRange(header: string | null, size: number): [number, number] | 'unsatisfiable' | undefined {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header ?? '');
  if (!match || (match[1] === '' && match[2] === '')) return undefined;
  const [, from = '', to = ''] = match;
  if (from === '') return Number(to) === 0 ? 'unsatisfiable' : [Math.max(0, size - Number(to)), size - 1];
  if (to !== '' && Number(to) < Number(from)) return undefined;
  if (Number(from) >= size) return 'unsatisfiable';
  return [Number(from), to === '' ? size - 1 : Math.min(Number(to), size - 1)];
}
