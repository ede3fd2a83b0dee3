import { createByteBuffer } from '../kernel/index.ts';

/** The start of an answer: status line and headers. */
export type AnswerHead = {
  status: number;
  /**
   * Lower-case names, values in order of arrival. Without prototype: a header may be named
   * `__proto__`.
   */
  headers: Record<string, string[]>;
  /** How long the vendor keeps the connection for another request; 0: it closes it. */
  keepForMs: number;
};

/** What the parser finds, in this order: one head, the body in pieces, the end. */
export type AnswerSink = {
  onHead(head: AnswerHead): void;
  /** A part of the chunk being read, or all of it; it shares the chunk's memory. */
  onBody(piece: Uint8Array): void;
  onEnd(): void;
};

/** The vendor does not speak HTTP as we require it. */
export class InvalidAnswer extends Error {}

/** The most bytes of status line and headers, those of interim answers and trailers included. */
const MAX_HEAD_BYTES = 64 * 1024;
/** The most bytes of chunk extensions in one answer, as in Node. */
const MAX_EXTENSION_BYTES = 16 * 1024;
/** Digits of a length: as many as an exact integer may have. */
const LENGTH = /^\d{1,15}$/;
const CHUNK_SIZE = /^([0-9a-f]{1,13})(;.*)?$/i;
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: .*)?$/;
// RFC 9110 5.6.2 and 5.5. Bare CR and LF are not field content either.
const FIELD_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const FOREIGN = /[^\t\x20-\x7e\x80-\xff]/;

const NOTHING: Buffer = Buffer.alloc(0);

type State = 'head' | 'length' | 'chunk size' | 'chunk' | 'chunk end' | 'trailers' | 'until the end' | 'complete';

/**
 * Reads the answers that come over one connection, each after its `begin` (RFC 9112). Strict, since
 * an attacker who makes two readers see different messages in the same bytes can answer other
 * people's requests: lines end with CR LF, no line continues another, a length is given once and
 * never beside chunks. Each byte is looked at a bounded number of times.
 */
export function createAnswerParser(sink: AnswerSink) {
  let state: State = 'complete';
  let isHead = false;
  /** Bytes of the body, or of the chunk, that have not come yet. */
  let left = 0;
  let headBytes = 0;
  let extensionBytes = 0;
  let chunk = NOTHING;
  let at = 0;
  let held: ReturnType<typeof createByteBuffer> | undefined;

  /**
   * The text before the next `mark`; undefined while that has not come, and what came is held. A
   * text of more than `max` bytes is refused before it is held.
   */
  function takeUntil(mark: string, max: number): string | undefined {
    const heldBytes = held?.size() ?? 0;
    if (heldBytes === 0) {
      const end = chunk.indexOf(mark, at, 'latin1');
      if (end >= 0) {
        if (end - at > max) throw new InvalidAnswer();
        const text = chunk.toString('latin1', at, end);
        at = end + mark.length;
        return text;
      }
    }
    const to = Math.min(chunk.length, at + max + mark.length - heldBytes);
    held ??= createByteBuffer();
    held.append(chunk, at, to);
    const { buffer, byteOffset, length } = held.view();
    const bytes = Buffer.from(buffer, byteOffset, length);
    // Only the end is new: a mark that began before may be complete now.
    const found = bytes.indexOf(mark, Math.max(0, heldBytes - mark.length + 1), 'latin1');
    if (found < 0) {
      if (bytes.length >= max + mark.length) throw new InvalidAnswer();
      at = to;
      return undefined;
    }
    at += found + mark.length - heldBytes;
    held = undefined;
    return bytes.toString('latin1', 0, found);
  }

  function countHead(bytes: number): void {
    headBytes += bytes;
    if (headBytes > MAX_HEAD_BYTES) throw new InvalidAnswer();
  }

  function readHead(): boolean {
    const text = takeUntil('\r\n\r\n', MAX_HEAD_BYTES - headBytes);
    if (text === undefined) return false;
    countHead(text.length + 4);
    const lines = text.split('\r\n');
    const [line = ''] = lines;
    const [, minor, digits] = STATUS_LINE.exec(line) ?? [];
    const status = Number(digits);
    // 101 would change the protocol, which we never ask for.
    if (digits === undefined || status === 101 || FOREIGN.test(line)) throw new InvalidAnswer();
    const headers = readFields(lines, 1);
    // Interim answers precede the real one.
    if (status < 200) return true;
    const isOld = minor === '0';
    const framing = readFraming(headers, isOld);
    const hasNoBody = isHead || status === 204 || status === 304;
    left = framing.length ?? 0;
    if (hasNoBody || framing.length === 0) state = 'complete';
    else if (framing.length !== undefined) state = 'length';
    else state = framing.isChunked ? 'chunk size' : 'until the end';
    const isKept = !isOld && state !== 'until the end';
    sink.onHead({ status, headers, keepForMs: isKept ? keptFor(headers) : 0 });
    if (state === 'complete') sink.onEnd();
    return true;
  }

  function readBody(): boolean {
    const to = state === 'until the end' ? chunk.length : Math.min(chunk.length, at + left);
    const piece = at === 0 && to === chunk.length ? chunk : chunk.subarray(at, to);
    at = to;
    if (state === 'until the end') {
      sink.onBody(piece);
      return true;
    }
    left -= piece.length;
    if (left === 0) state = state === 'chunk' ? 'chunk end' : 'complete';
    sink.onBody(piece);
    if (state === 'complete') sink.onEnd();
    return true;
  }

  function readChunkSize(): boolean {
    const line = takeUntil('\r\n', MAX_EXTENSION_BYTES);
    if (line === undefined) return false;
    const [, digits, extension = ''] = CHUNK_SIZE.exec(line) ?? [];
    if (digits === undefined || FOREIGN.test(extension)) throw new InvalidAnswer();
    extensionBytes += extension.length;
    if (extensionBytes > MAX_EXTENSION_BYTES) throw new InvalidAnswer();
    left = Number.parseInt(digits, 16);
    state = left === 0 ? 'trailers' : 'chunk';
    return true;
  }

  function readChunkEnd(): boolean {
    const between = takeUntil('\r\n', 0);
    if (between === undefined) return false;
    state = 'chunk size';
    return true;
  }

  function readTrailer(): boolean {
    const line = takeUntil('\r\n', MAX_HEAD_BYTES - headBytes);
    if (line === undefined) return false;
    countHead(line.length + 2);
    if (line !== '') {
      readFields([line], 0);
      return true;
    }
    state = 'complete';
    sink.onEnd();
    return true;
  }

  /** Reads on; false when more bytes are needed. */
  function step(): boolean {
    if (state === 'head') return readHead();
    if (state === 'chunk size') return readChunkSize();
    if (state === 'chunk end') return readChunkEnd();
    if (state === 'trailers') return readTrailer();
    return readBody();
  }

  return {
    /** Expects the answer to a request; `method` decides whether it may have a body. */
    begin(method: string): void {
      state = 'head';
      isHead = method === 'HEAD';
      headBytes = 0;
      extensionBytes = 0;
    },
    /**
     * Reads a chunk of the connection, and says whether all of it belonged to the answer.
     * @throws InvalidAnswer
     */
    read(bytes: Buffer): boolean {
      // The reader of a body may free its memory.
      const { length } = bytes;
      chunk = bytes;
      at = 0;
      while (at < length && state !== 'complete' && step());
      chunk = NOTHING;
      return at === length;
    },
    /** The vendor sends no more: whether that is how the answer ends. */
    end(): boolean {
      if (state === 'until the end') {
        state = 'complete';
        sink.onEnd();
      }
      return state === 'complete';
    },
    isComplete: (): boolean => state === 'complete',
  };
}

function readFields(lines: readonly string[], from: number): Record<string, string[]> {
  const headers: Record<string, string[]> = Object.create(null);
  for (let index = from; index < lines.length; index += 1) {
    const line = lines[index] ?? '';
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon)).toLowerCase();
    if (!FIELD_NAME.test(name) || FOREIGN.test(line)) throw new InvalidAnswer();
    const value = trimBlanks(line, colon + 1);
    const known = headers[name];
    if (known) known.push(value);
    else headers[name] = [value];
  }
  return headers;
}

/** The text from `start`, without the spaces and tabs around it. */
function trimBlanks(line: string, start: number): string {
  let from = start;
  let to = line.length;
  while (from < to && isBlank(line, from)) from += 1;
  while (to > from && isBlank(line, to - 1)) to -= 1;
  return line.slice(from, to);
}

const isBlank = (text: string, index: number): boolean => text[index] === ' ' || text[index] === '\t';

/** How the end of the body is found (RFC 9112 6.3). What could be read in two ways is refused. */
function readFraming(
  headers: Record<string, string[]>,
  isOld: boolean,
): { length: number | undefined; isChunked: boolean } {
  const lengths = headers['content-length'];
  const codings = headers['transfer-encoding'];
  if (codings !== undefined) {
    const isChunked = codings.length === 1 && codings[0]?.toLowerCase() === 'chunked';
    if (!isChunked || lengths !== undefined || isOld) throw new InvalidAnswer();
    return { length: undefined, isChunked };
  }
  if (lengths === undefined) return { length: undefined, isChunked: false };
  const [length = ''] = lengths;
  if (lengths.length > 1 || !LENGTH.test(length)) throw new InvalidAnswer();
  return { length: Number(length), isChunked: false };
}

/** We must close first: a request that meets the vendor's own time-out is in doubt. */
const KEEP_MARGIN_MS = 1000;

function keptFor(headers: Record<string, string[]>): number {
  const { connection } = headers;
  if (connection?.some((value) => hasToken(value, 'close'))) return 0;
  const hint = /(?:^|[,; ])timeout=(\d{1,6})/i.exec(headers['keep-alive']?.[0] ?? '')?.[1];
  return hint === undefined ? Number.POSITIVE_INFINITY : Math.max(0, Number(hint) * 1000 - KEEP_MARGIN_MS);
}

const hasToken = (value: string, token: string): boolean =>
  value.split(',').some((each) => each.trim().toLowerCase() === token);
