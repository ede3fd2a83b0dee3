/** Counts the values, levels and names of JSON text in chunks, before a parser may have it. */
import { nextTurn } from './background-work.ts';
import { BACKSLASH, QUOTE } from './json.ts';

/**
 * Limits of JSON text. `maxDepth` counts nested arrays and objects; every value counts except
 * member names, which `maxNames` counts.
 */
export type JsonBounds = { maxBytes: number; maxValues: number; maxDepth: number; maxNames?: number };

/**
 * The most bytes of member names in one text, as they are written. Names cost far more than values
 * of the same size: the parser looks each one up, and so does the code that reads the object.
 */
export const MAX_JSON_NAME_BYTES = 512 * 1024;

/** The longest number, as it is written: parsers read the digits of a longer one slowly. */
export const MAX_JSON_NUMBER_BYTES = 1024;

/** The limit that a text exceeds. */
export type JsonBound = keyof JsonBounds | 'maxNameBytes' | 'maxNumberBytes';

/** Measures JSON while it arrives. */
export type JsonScanner = {
  /**
   * Reads the next bytes and returns the first exceeded limit. After that it reads nothing more,
   * and every call returns the same limit. The counts are right for every valid prefix, so a parser
   * never creates more values than allowed before it finds a fault.
   */
  scan(chunk: Uint8Array): JsonBound | undefined;
  /** Bytes, values and levels so far. */
  readonly counts: { readonly bytes: number; readonly values: number; readonly depth: number };
};

/** What a byte outside of strings begins or ends. */
const SPACE = 0;
const SCALAR = 1;
const STRING = 2;
const OPEN = 3;
const CLOSE = 4;
const COLON = 5;
const KINDS = new Uint8Array(256).fill(SCALAR);
for (const char of ' \t\r\n,') KINDS[char.charCodeAt(0)] = SPACE;
for (const char of '[{') KINDS[char.charCodeAt(0)] = OPEN;
for (const char of ']}') KINDS[char.charCodeAt(0)] = CLOSE;
KINDS[':'.charCodeAt(0)] = COLON;
KINDS[QUOTE] = STRING;

/**
 * A scanner of UTF-8 JSON in chunks of any size. Takes linear time and constant memory. It does not
 * check the grammar; a parser does so afterwards.
 */
export function createJsonScanner({ maxBytes, maxValues, maxDepth, maxNames = Infinity }: JsonBounds): JsonScanner {
  const counts = { bytes: 0, values: 0, depth: 0 };
  let levels = 0;
  let isInString = false;
  /** The next byte of the string is escaped. */
  let isEscaped = false;
  /** Bytes of the current number or word; 0 outside of one. */
  let scalarBytes = 0;
  /** Bytes of the current or last string, and of all names. */
  let stringBytes = 0;
  let names = 0;
  let nameBytes = 0;
  let passed: JsonBound | undefined;

  function read(chunk: Uint8Array): JsonBound | undefined {
    for (let i = 0; i < chunk.length; ) {
      if (isInString) {
        const skipped = skipJsonString(chunk, i, isEscaped);
        isEscaped = skipped.isEscaped;
        isInString = !skipped.isClosed;
        stringBytes += skipped.next - i;
        i = skipped.next;
        continue;
      }
      const kind = KINDS[chunk[i] as number];
      i += 1;
      if (kind === SCALAR) {
        scalarBytes += 1;
        if (scalarBytes > MAX_JSON_NUMBER_BYTES) return 'maxNumberBytes';
        if (scalarBytes > 1) continue;
        counts.values += 1;
      } else {
        scalarBytes = 0;
        if (kind === STRING) {
          isInString = true;
          stringBytes = 0;
          counts.values += 1;
        } else if (kind === OPEN) {
          counts.values += 1;
          levels += 1;
          if (levels > counts.depth) counts.depth = levels;
        } else if (kind === CLOSE) levels -= 1;
        // The string before it was a name. Its value follows, so the count was never too high.
        else if (kind === COLON) {
          counts.values -= 1;
          names += 1;
          nameBytes += stringBytes;
          if (names > maxNames) return 'maxNames';
          if (nameBytes > MAX_JSON_NAME_BYTES) return 'maxNameBytes';
        }
      }
      if (counts.values > maxValues) return 'maxValues';
      if (counts.depth > maxDepth) return 'maxDepth';
    }
    return undefined;
  }

  return {
    counts,
    scan(chunk) {
      if (passed) return passed;
      counts.bytes += chunk.byteLength;
      passed = counts.bytes > maxBytes ? 'maxBytes' : read(chunk);
      return passed;
    },
  };
}

/** A scanner needs about two milliseconds for it at worst. */
const SLICE_BYTES = 256 * 1024;

/**
 * Yields the same bytes in slices, and lets the event loop run between the slices of a chunk. A
 * slice is valid until the next is requested.
 */
export async function* sliceChunks(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.byteLength; at += SLICE_BYTES) {
      if (at > 0) await nextTurn();
      yield chunk.subarray(at, at + SLICE_BYTES);
    }
  }
}

/**
 * `next`: the index after the skipped bytes. `isEscaped`: the next byte of the string is escaped.
 */
export type SkippedString = { next: number; isClosed: boolean; isEscaped: boolean };

/**
 * Skips bytes of a JSON string, from `start` inside it to after its closing quote or to the end of
 * the chunk. Linear: no byte is read more than twice.
 */
export function skipJsonString(chunk: Uint8Array, start: number, isEscaped: boolean): SkippedString {
  for (let at = isEscaped ? start + 1 : start; ; ) {
    const quote = chunk.indexOf(QUOTE, at);
    const end = quote === -1 ? chunk.length : quote;
    let escapes = 0;
    // A quote found earlier ends the run: no backslash is counted twice.
    while (end - escapes > at && chunk[end - 1 - escapes] === BACKSLASH) escapes += 1;
    const isOdd = escapes % 2 === 1;
    if (quote === -1) return { next: end, isClosed: false, isEscaped: isOdd };
    at = quote + 1;
    if (!isOdd) return { next: at, isClosed: true, isEscaped: false };
  }
}

const LETTER_U = 0x75;
const HEX_DIGITS = 4;

/** Counts the bytes of a JSON string in UTF-8 once its escapes are read, in any chunks. */
export function measureJsonString() {
  let bytes = 0;
  /** Hexadecimal digits of `\uXXXX` that are still to come. */
  let digits = 0;
  let code = 0;
  let isAfterBackslash = false;
  return {
    bytes: () => bytes,
    push(chunk: Uint8Array, from: number, to: number): void {
      for (let at = from; at < to; at += 1) {
        const byte = chunk[at] as number;
        if (digits > 0) {
          digits -= 1;
          code = code * 16 + (byte <= 0x39 ? byte - 0x30 : (byte & 0x0f) + 9);
          if (digits === 0) bytes += utf8Bytes(code);
        } else if (isAfterBackslash) {
          isAfterBackslash = false;
          if (byte === LETTER_U) {
            digits = HEX_DIGITS;
            code = 0;
          } else bytes += 1;
        } else if (byte === BACKSLASH) isAfterBackslash = true;
        else bytes += 1;
      }
    },
  };
}

/** A surrogate is half of a character of four bytes. */
function utf8Bytes(code: number): number {
  if (code < 0x80) return 1;
  return code < 0x800 || (code >= 0xd800 && code <= 0xdfff) ? 2 : 3;
}
