import type { ByteSpan } from '../../store/ports/index.ts';

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
  const parts = specs.split(',').map((part) => part.trim());
  for (const part of parts.filter((each) => each !== '')) {
    const match = /^(\d{0,15})-(\d{0,15})$/.exec(part);
    if (!match || part === '-') return undefined;
    const [, first = '', last = ''] = match;
    if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined;
    // `-500`: the last 500 bytes.
    const start = first === '' ? Math.max(0, size - Number(last)) : Number(first);
    const end = first === '' || last === '' ? size : Math.min(size, Number(last) + 1);
    if (start < end) spans.push({ start, end });
  }
  const isWasteful = spans.length > MAX_RANGES || sumOf(spans) > size;
  return isWasteful ? undefined : spans;
}

const sumOf = (spans: readonly ByteSpan[]): number => spans.reduce((sum, { start, end }) => sum + end - start, 0);
