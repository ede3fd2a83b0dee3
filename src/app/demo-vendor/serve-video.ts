import { sha256Hex } from '../../kernel/index.ts';
import type { Job } from './jobs.ts';

const BOX_HEADER_BYTES = 8;

/**
 * The sample with the job's id in a `free` box at its end, so that no two jobs have the same bytes.
 * Players skip the box.
 */
function makeVideo(job: Job): Uint8Array {
  const sample = sampleVideo();
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

/**
 * Two seconds of a moving square: MP4, H.264 Main, 320 x 180, 24 frames, index first. Created once
 * with FFmpeg's `color` and `overlay` sources and libx264.
 */
const BASE64 = [
  'AAAAIGZ0eXBpc29tAAACAGlzb21pc28yYXZjMW1wNDEAAAPzbW9vdgAAAGxtdmhkAAAAAAAAAAAAAAAAAAAD6AAAB9AAAQAAAQAAAAAAAAAAAA',
  'AAAAEAAAAAAAAAAAAAAAAAAAABAAAAAAAAAAAAAAAAAABAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAgAAA0J0cmFrAAAAXHRraGQA',
  'AAADAAAAAAAAAAAAAAABAAAAAAAAB9AAAAAAAAAAAAAAAAAAAAAAAAEAAAAAAAAAAAAAAAAAAAABAAAAAAAAAAAAAAAAAABAAAAAAUAAAAC0AA',
  'AAAAAkZWR0cwAAABxlbHN0AAAAAAAAAAEAAAfQAAAIAAABAAAAAAK6bWRpYQAAACBtZGhkAAAAAAAAAAAAAAAAAAAwAAAAYABVxAAAAAAALWhk',
  'bHIAAAAAAAAAAHZpZGUAAAAAAAAAAAAAAABWaWRlb0hhbmRsZXIAAAACZW1pbmYAAAAUdm1oZAAAAAEAAAAAAAAAAAAAACRkaW5mAAAAHGRyZW',
  'YAAAAAAAAAAQAAAAx1cmwgAAAAAQAAAiVzdGJsAAAAvXN0c2QAAAAAAAAAAQAAAK1hdmMxAAAAAAAAAAEAAAAAAAAAAAAAAAAAAAAAAUAAtABI',
  'AAAASAAAAAAAAAABDExhdmMgbGlieDI2NAAAAAAAAAAAAAAAAAAAAAAAAAAAGP//AAAAM2F2Y0MBTUAV/+EAGmdNQBW5AiCgz8+AiAAAAwAIAA',
  'ADAMB4sWwjAQAGaOhDhEsgAAAAEHBhc3AAAAABAAAAAQAAABRidHJ0AAAAAAAAHBwAABwcAAAAGHN0dHMAAAAAAAAAAQAAABgAAAQAAAAAFHN0',
  'c3MAAAAAAAAAAQAAAAEAAACQY3R0cwAAAAAAAAAQAAAABAAACAAAAAABAAAMAAAAAAEAAAQAAAAAAgAACAAAAAABAAAMAAAAAAEAAAQAAAAAAw',
  'AACAAAAAABAAAMAAAAAAEAAAQAAAAAAgAACAAAAAABAAAMAAAAAAEAAAQAAAAAAgAACAAAAAABAAAMAAAAAAEAAAQAAAAAAQAACAAAAAAcc3Rz',
  'YwAAAAAAAAABAAAAAQAAABgAAAABAAAAdHN0c3oAAAAAAAAAAAAAABgAAANDAAAAVwAAADAAAAAmAAAAMQAAABcAAAAqAAAAJwAAAC0AAAAaAA',
  'AAKwAAACcAAAAsAAAALgAAABYAAAAtAAAALwAAAC8AAAAWAAAALwAAAC8AAAAzAAAAFgAAAC0AAAAUc3RjbwAAAAAAAAABAAAEIwAAAD11ZHRh',
  'AAAANW1ldGEAAAAAAAAAIWhkbHIAAAAAAAAAAG1kaXJhcHBsAAAAAAAAAAAAAAAACGlsc3QAAAAIZnJlZQAABw9tZGF0AAACsAYF//+s3EXpve',
  'bZSLeWLNgg2SPu73gyNjQgLSBjb3JlIDE2NCByMzA5NSBiYWVlNDAwIC0gSC4yNjQvTVBFRy00IEFWQyBjb2RlYyAtIENvcHlsZWZ0IDIwMDMt',
  'MjAyMiAtIGh0dHA6Ly93d3cudmlkZW9sYW4ub3JnL3gyNjQuaHRtbCAtIG9wdGlvbnM6IGNhYmFjPTEgcmVmPTE2IGRlYmxvY2s9MTowOjAgYW',
  '5hbHlzZT0weDE6MHgxMzEgbWU9dW1oIHN1Ym1lPTEwIHBzeT0xIHBzeV9yZD0xLjAwOjAuMDAgbWl4ZWRfcmVmPTEgbWVfcmFuZ2U9MjQgY2hy',
  'b21hX21lPTEgdHJlbGxpcz0yIDh4OGRjdD0wIGNxbT0wIGRlYWR6b25lPTIxLDExIGZhc3RfcHNraXA9MSBjaHJvbWFfcXBfb2Zmc2V0PS0yIH',
  'RocmVhZHM9MyBsb29rYWhlYWRfdGhyZWFkcz0xIHNsaWNlZF90aHJlYWRzPTAgbnI9MCBkZWNpbWF0ZT0xIGludGVybGFjZWQ9MCBibHVyYXlf',
  'Y29tcGF0PTAgY29uc3RyYWluZWRfaW50cmE9MCBiZnJhbWVzPTggYl9weXJhbWlkPTIgYl9hZGFwdD0yIGJfYmlhcz0wIGRpcmVjdD0zIHdlaW',
  'dodGI9MSBvcGVuX2dvcD0wIHdlaWdodHA9MiBrZXlpbnQ9MjUwIGtleWludF9taW49MTIgc2NlbmVjdXQ9NDAgaW50cmFfcmVmcmVzaD0wIHJj',
  'X2xvb2thaGVhZD02MCByYz1jcmYgbWJ0cmVlPTEgY3JmPTMwLjAgcWNvbXA9MC42MCBxcG1pbj0wIHFwbWF4PTY5IHFwc3RlcD00IGlwX3JhdG',
  'lvPTEuNDAgYXE9MToxLjAwAIAAAACLZYiBAAZ//qcv4FMs+UTzf3cCCwv9S/YuS7shZ9m5cumBgAAtkqk5McWNN4RQC/gAAi4oPE6ACbTwv5/1',
  '4RngeXQoXXAZLAvhPmkFTitqOhCp2FkqVp2n2MUaJjOpDbOBBjdSo7R2ZFGnYADpttbxG39JZO87YCGqNjcTcJXKK4jK7SEn+2RolcUHvQAAAF',
  'NBmggtiGf/+lgBss9JQUAEIdf/wNNuNJp2qil+WGAi53H+NMwrkTauoP2dQYgmkE89iWXJ32EWyLZxGNSRtw/z+iBH1eSyGth2QHs8scqVaH1e',
  'tgAAACxBmhBL8CBkymEM//pYAbTi3ti67TYAy4a1RO0pvlzjzzaczsbCd7sSGMNk4QAAACJBmhhpPAgeTKYEP//94QA3PlOQwJOCXGCkO6Go2l',
  '2yNZugAAAALUGaIKl8CB+TKYBD//3hADX+jEMIA0v8KblGuuX+/HbiI1AXRJOumsGScCZisQAAABMBniiEkhn/AuhMGT9/6wZnWkVBAAAAJkGa',
  'KMm8CB/kymAEP//94QA0voxCny+pGyOeE5zotCW3AqdoNIZ7AAAAI0GaMOn8CB/5MpgAQ//94QAzfpIA2JOCXFiHJUNcNKWXqMaBAAAAKUGaOS',
  'iPAgf/kymAAQ///eEAMj6MQwgDS/wpuUa6xDB2UR9gWCx64qlrAAAAFgGeQQzyGf8CsjYVuhGkhhO56JmUsIAAAAAnQZpBSJ8CB//kymAAEP/9',
  '4QAw/oxCny+pGyOeE5zotCWycQtBrFYRAAAAI0GaSWivAgf/+TKYAAEP//3hAC++tScmhFbxybDX7S0mDDVgAAAAKEGaUYi/Agf//kymAAAQ//',
  '3hAC6euRB0yfJb354b7+e+97tt9vm+ERQAAAAqQZpZyM8CB///kymAAAEP//3hAC1+tSd7oRVtbL+L7FdFoS2TiFoNYr6BAAAAEgGeYaRchn8C',
  'akJn6akb4nubgQAAAClBmmHo3wIH///kymAAABD//eEALF61JyaEVbU0+L7FdFoS2TiFoNYsOQAAACtBmmoI7wIH///5MpgAAAMBD//94QArPr',
  'kQ25yZqN6gWWypkHy1SLAzfCM4AAAAK0Gackj/Agf///5MpgAAAwAQ7/yEAKP6MsMFqm36PjEF3XBaEtk8DeI1jcgAAAASAZ56JHSGfwI6Qmfp',
  'qRvie6qBAAAAK0GaemeBA////8mUwAAAAwCHf/yEAJ961HAvF7fkyRBd1wWhLZPA3iNY4YAAAAArQZqCh4ED////yZTAAAADAIf//eEAJ97tEZ',
  'E5M1G9QLLZUyD5apFgZvhJYAAAAC9BmorHgQP////JlMAAAAMBQQQ/Df/6WAEp9Tu23C8ehUrzTuncecOIknW0z7JicQAAABIBnpKkdIZ/AgpC',
  'Z+mpG+J7uYAAAAApQZqS54ED////yZTAAAADAIZ/+lgBIemdD/BcRDFOXUnEa81OdPtP9m0=',
];

export const sampleVideo = (): Uint8Array => Buffer.from(BASE64.join(''), 'base64');
