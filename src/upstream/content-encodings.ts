/** Decodes what vendors compress: gzip, deflate, br and zstd, whole or as it arrives. */

import { pipeline, Transform } from 'node:stream';
import { promisify } from 'node:util';
import {
  brotliDecompress,
  brotliDecompressSync,
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
  gunzip,
  gunzipSync,
  inflate,
  inflateSync,
  type ZlibOptions,
  zstdDecompress,
  zstdDecompressSync,
} from 'node:zlib';

/**
 * We request no encoding, but decode what vendors and their CDNs encode anyway. One decoder is for
 * a whole body in memory, the other for a body of any size.
 */
type Decoder = {
  whole(data: Uint8Array, options: { maxOutputLength: number }): Promise<Buffer>;
  open(options?: ZlibOptions): Transform;
  /** Stands before a decoder that finds no fault in a body that is cut off. */
  check?: () => Transform;
  /** What the first bytes of a body decode to; nothing where they are not encoded like this. */
  beginning(data: Uint8Array): Uint8Array;
};

/** Decoded bytes of a beginning of few KiB: a bomb among them decodes to nothing. */
const MAX_BEGINNING = 1024 * 1024;

const decodeOrEmpty =
  <Options>(decode: (data: Uint8Array, options: Options) => Uint8Array, options: Options) =>
  (data: Uint8Array): Uint8Array => {
    try {
      return decode(data, options);
    } catch {
      return new Uint8Array(0);
    }
  };
const inflating = { finishFlush: constants.Z_SYNC_FLUSH, maxOutputLength: MAX_BEGINNING };
const brotli = { finishFlush: constants.BROTLI_OPERATION_FLUSH, maxOutputLength: MAX_BEGINNING };

/** RFC 9659: a larger window, which the decoder would have to hold, belongs to no HTTP answer. */
const zstdWindow = { params: { [constants.ZSTD_d_windowLogMax]: 23 } };
const zstd = { ...zstdWindow, finishFlush: constants.ZSTD_e_flush, maxOutputLength: MAX_BEGINNING };

const gzip: Decoder = {
  whole: promisify(gunzip),
  open: createGunzip,
  beginning: decodeOrEmpty(gunzipSync, inflating),
};
const DECODERS: Readonly<Record<string, Decoder>> = {
  gzip,
  'x-gzip': gzip,
  deflate: {
    whole: promisify(inflate),
    open: createInflate,
    beginning: decodeOrEmpty(inflateSync, inflating),
  },
  br: {
    whole: promisify(brotliDecompress),
    open: () => createBrotliDecompress(),
    beginning: decodeOrEmpty(brotliDecompressSync, brotli),
  },
  zstd: {
    async whole(data, options) {
      await checkZstd(data);
      return promisify(zstdDecompress)(data, { ...zstdWindow, ...options });
    },
    check: checkingZstd,
    open: () => createZstdDecompress(zstdWindow),
    beginning: decodeOrEmpty(zstdDecompressSync, zstd),
  },
};

/** The encodings of a body, in the order in which they were applied, from the header's values. */
export const readEncodings = (contentEncoding: readonly string[] = []): string[] =>
  contentEncoding
    .flatMap((value) => value.toLowerCase().split(','))
    .map((encoding) => encoding.trim())
    .filter((encoding) => encoding !== '' && encoding !== 'identity');

/** Undefined for encodings that are not known, or more than one. */
export function findDecoder([encoding = '', ...more]: readonly string[]): Decoder | undefined {
  return more.length === 0 && Object.hasOwn(DECODERS, encoding) ? DECODERS[encoding] : undefined;
}

/**
 * The decoded bytes, piece by piece as they are wanted: a small body that decodes to a large one
 * does not fill the memory. Rejects where the body is not encoded as it says.
 */
export function decodeBody(source: ReadableStream<Uint8Array>, { open, check }: Decoder): Transform {
  const decoder = open();
  // A fault of one ends the others; the reader of the decoder gets it.
  const onFault = () => {};
  if (check) pipeline(source, check(), decoder, onFault);
  else pipeline(source, decoder, onFault);
  return decoder;
}

/**
 * The decoded bytes as a stream that reads ahead nothing. Cancelling it ends `source` at once, also
 * while a piece is waited for.
 */
export function decodedStream(source: ReadableStream<Uint8Array>, way: Decoder): ReadableStream<Uint8Array> {
  const decoder = decodeBody(source, way);
  const pieces = decoder[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: () => void decoder.destroy(),
    },
    { highWaterMark: 0 },
  );
}

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
async function checkZstd(data: Uint8Array): Promise<void> {
  const frames = new ZstdFrames();
  for (let at = 0; at < data.length; at += SLICE_BYTES) {
    if (at > 0) await new Promise((resolve) => setImmediate(resolve));
    frames.push(data.subarray(at, at + SLICE_BYTES));
  }
  if (!frames.isWhole()) throw new Error(CUT_OFF);
}

/** Passes a body on, and fails at its end where `checkZstd` would. */
function checkingZstd(): Transform {
  const frames = new ZstdFrames();
  return new Transform({
    transform(chunk: Uint8Array, _, done) {
      frames.push(chunk);
      done(null, chunk);
    },
    flush: (done) => done(frames.isWhole() ? null : new Error(CUT_OFF)),
  });
}
