import { nextTurn } from '../../kernel/index.ts';

/** Reads the bytes of a file in order, without keeping what it has passed. */
export type ByteSource = {
  /** Whether this many bytes can be peeked at without waiting. */
  has(count: number): boolean;
  /** Waits for this many bytes; false: the file has fewer left. Call it only for a few thousand. */
  fill(count: number): Promise<boolean>;
  /** Up to `count` of the next bytes that have come. Valid until the next `fill` or `skip`. */
  peek(count: number): Buffer;
  skip(count: number): Promise<void>;
  /** Bytes that were skipped. */
  position(): number;
  /** Reads no more of the file. */
  close(): Promise<unknown>;
};

/** Formats that look like sound at every byte take about ten milliseconds for it. */
const PIECE_BYTES = 32 * 1024;

export function createByteSource(chunks: AsyncIterable<Uint8Array>): ByteSource {
  const pieces = cut(chunks);
  let buffer: Buffer = Buffer.alloc(0);
  let at = 0;
  let passed = 0;

  async function next(): Promise<boolean> {
    // A copy: a piece is valid until the next one.
    const rest = Buffer.from(buffer.subarray(at));
    const { done, value } = await pieces.next();
    if (done) return false;
    buffer = rest.length === 0 ? value : Buffer.concat([rest, value]);
    at = 0;
    return true;
  }
  const has = (count: number) => buffer.length - at >= count;

  return {
    has,
    async fill(count) {
      while (!has(count)) if (!(await next())) return false;
      return true;
    },
    peek: (count) => buffer.subarray(at, at + count),
    async skip(count) {
      passed += count;
      let left = count;
      while (buffer.length - at < left) {
        left -= buffer.length - at;
        at = buffer.length;
        if (!(await next())) return;
      }
      at += left;
    },
    position: () => passed,
    close: () => pieces.return(),
  };
}

async function* cut(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.byteLength; at += PIECE_BYTES) {
      if (at > 0) await nextTurn();
      yield Buffer.from(chunk.buffer, chunk.byteOffset + at, Math.min(PIECE_BYTES, chunk.byteLength - at));
    }
  }
}
