import { randomAlnum, toStream } from '../../kernel/index.ts';
import type { ByteSpan, FileStore } from '../../store/ports/index.ts';
import type { ContentRequest } from '../../vendors/index.ts';
import type { Content } from '../types.ts';

/** Ranges in one answer: players ask for one or two. More are answered with the whole file. */
const MAX_RANGES = 8;
/** A longer header is not read. */
const MAX_HEADER = 400;

/**
 * The parts that a Range header requests of a file of `size` bytes (RFC 9110, 14.2). `undefined`:
 * the header is not understood, so the whole file is sent. Empty: no part of it exists.
 */
export function readRanges(header: string | undefined, size: number): ByteSpan[] | undefined {
  if (header === undefined || header.length > MAX_HEADER) return undefined;
  const specs = /^bytes\s*=(.*)$/i.exec(header.trim())?.[1];
  if (specs === undefined) return undefined;
  const spans: ByteSpan[] = [];
  const parts = specs
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  if (parts.length === 0) return undefined;
  for (const part of parts) {
    const match = /^(\d{0,15})-(\d{0,15})$/.exec(part);
    if (!match || part === '-') return undefined;
    const [, first = '', last = ''] = match;
    if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined;
    // `-500`: the last 500 bytes.
    const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
    const end = first === '' || last === '' ? size : Math.min(size, Number(last) + 1);
    if (start < end) spans.push({ start, end });
  }
  const isWasteful = spans.length > MAX_RANGES || totalBytes(spans) > size;
  return isWasteful ? undefined : spans;
}

const totalBytes = (spans: readonly ByteSpan[]): number => spans.reduce((sum, { start, end }) => sum + end - start, 0);

/** If-Range: a part is sent only of the version that the client has. */
export function mayUseRange(
  headers: Record<string, string>,
  { etag, keptAt }: { etag: string; keptAt: number },
): boolean {
  const condition = headers['if-range'];
  if (condition === undefined) return true;
  if (condition.startsWith('"')) return condition === etag;
  return Date.parse(condition) === keptAt * 1000;
}

type Parts = {
  kept: { sha256: string; bytes: number };
  /** The media type of each part. */
  type: string;
  spans: readonly ByteSpan[];
  headers: Record<string, string>;
  client: ContentRequest;
};

/** Several ranges in one multipart answer (RFC 9110, 14.6). */
export async function sendParts(
  files: FileStore,
  { kept, type, spans, headers, client }: Parts,
): Promise<Content | undefined> {
  if ((await files.size(kept.sha256)) === undefined) return undefined;
  const boundary = randomAlnum(32);
  const heads = spans.map(
    ({ start, end }) =>
      `\r\n--${boundary}\r\ncontent-type: ${type}\r\ncontent-range: bytes ${start}-${end - 1}/${kept.bytes}\r\n\r\n`,
  );
  const tail = `\r\n--${boundary}--\r\n`;
  const length = spans.reduce((sum, { start, end }, n) => sum + (heads[n]?.length ?? 0) + end - start, tail.length);
  const sent = {
    ...headers,
    'content-type': `multipart/byteranges; boundary=${boundary}`,
    'content-length': String(length),
  };
  const parts = (async function* () {
    for (const [n, span] of spans.entries()) {
      yield Buffer.from(heads[n] ?? '');
      const part = await files.open(kept.sha256, span);
      if (!part) throw new Error('the file of a kept result is missing');
      yield* part instanceof ReadableStream ? part : part.stream();
    }
    yield Buffer.from(tail);
  })();
  return { status: 206, headers: sent, body: toStream(parts, client.onStreamEnd), isParts: true };
}
