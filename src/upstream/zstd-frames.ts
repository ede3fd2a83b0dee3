import { Transform } from 'node:stream';

const MAGIC = 0xfd2fb528;
/** Sixteen magic numbers, of frames that carry no content. */
const SKIPPABLE_MAGIC = 0x184d2a50;
const RLE_BLOCK = 1;
const DICTIONARY_BYTES = [0, 1, 2, 4];
const CONTENT_SIZE_BYTES = [0, 2, 4, 8];

const NOTHING = Buffer.alloc(0);
/** Frames may be as small as eight bytes: other work gets its turns. */
const SLICE_BYTES = 64 * 1024;

/** The next bytes to look at, or how many to pass over. */
type Wanted = { take: number } | { skip: number };

/**
 * Follows the frames of a zstd body (RFC 8878 3.1) without decoding them. The decoder takes a body
 * that ends too early, or goes on with something else, for a whole one.
 */
class ZstdFrames {
  #isBetweenFrames = true;
  #isWrong = false;
  #gathered: Buffer = NOTHING;
  readonly #walk = this.#readFrames();
  #wanted: Wanted = this.#walk.next().value;

  push({ buffer, byteOffset, length }: Uint8Array): void {
    const chunk = Buffer.from(buffer, byteOffset, length);
    for (let at = 0; at < length && !this.#isWrong; ) {
      const wanted = this.#wanted;
      const left = 'skip' in wanted ? wanted.skip : wanted.take - this.#gathered.length;
      const piece = chunk.subarray(at, at + left);
      at += piece.length;
      this.#isBetweenFrames = false;
      if ('take' in wanted && piece.length < wanted.take) this.#gathered = Buffer.concat([this.#gathered, piece]);
      if (piece.length === left) this.#advance(this.#gathered.length > 0 ? this.#gathered : piece);
      else if ('skip' in wanted) this.#wanted = { skip: left - piece.length };
    }
  }

  /** Whether the body may end here. */
  isWhole = (): boolean => this.#isBetweenFrames && !this.#isWrong;

  #advance(bytes: Buffer): void {
    this.#gathered = NOTHING;
    do this.#wanted = this.#walk.next(bytes).value;
    while ('skip' in this.#wanted && this.#wanted.skip === 0);
  }

  *#readFrames(): Generator<Wanted, never, Buffer> {
    for (;;) {
      const magic = (yield { take: 4 }).readUInt32LE();
      if ((magic & 0xfffffff0) >>> 0 === SKIPPABLE_MAGIC) yield { skip: (yield { take: 4 }).readUInt32LE() };
      else if (magic === MAGIC) yield* this.#readFrame();
      else this.#isWrong = true;
      this.#isBetweenFrames = true;
    }
  }

  *#readFrame(): Generator<Wanted, void, Buffer> {
    const descriptor = (yield { take: 1 }).readUInt8();
    const isSingleSegment = (descriptor & 0x20) !== 0;
    const sizeBytes = CONTENT_SIZE_BYTES[descriptor >> 6] || (isSingleSegment ? 1 : 0);
    yield { skip: (isSingleSegment ? 0 : 1) + (DICTIONARY_BYTES[descriptor & 3] ?? 0) + sizeBytes };
    for (let isLast = false; !isLast; ) {
      const header = (yield { take: 3 }).readUIntLE(0, 3);
      isLast = (header & 1) === 1;
      yield { skip: ((header >> 1) & 3) === RLE_BLOCK ? 1 : header >> 3 };
    }
    yield { skip: (descriptor & 4) === 0 ? 0 : 4 };
  }
}

const CUT_OFF = 'the zstd body is not whole';

/** Rejects where the body is cut off, or is followed by something else. */
export async function checkZstd(data: Uint8Array): Promise<void> {
  const frames = new ZstdFrames();
  for (let at = 0; at < data.length; at += SLICE_BYTES) {
    if (at > 0) await new Promise((resolve) => setImmediate(resolve));
    frames.push(data.subarray(at, at + SLICE_BYTES));
  }
  if (!frames.isWhole()) throw new Error(CUT_OFF);
}

/** Passes a body on, and fails at its end where `checkZstd` would. */
export function checkingZstd(): Transform {
  const frames = new ZstdFrames();
  return new Transform({
    transform(chunk: Uint8Array, _, done) {
      frames.push(chunk);
      done(null, chunk);
    },
    flush: (done) => done(frames.isWhole() ? null : new Error(CUT_OFF)),
  });
}
