import type { Transform } from 'node:stream';
import { pipeline } from 'node:stream';
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
import { checkingZstd, checkZstd } from './zstd-frames.ts';

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

const beginningBy =
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
  beginning: beginningBy(gunzipSync, inflating),
};
const DECODERS: Readonly<Record<string, Decoder>> = {
  gzip,
  'x-gzip': gzip,
  deflate: {
    whole: promisify(inflate),
    open: createInflate,
    beginning: beginningBy(inflateSync, inflating),
  },
  br: {
    whole: promisify(brotliDecompress),
    open: () => createBrotliDecompress(),
    beginning: beginningBy(brotliDecompressSync, brotli),
  },
  zstd: {
    async whole(data, options) {
      await checkZstd(data);
      return promisify(zstdDecompress)(data, { ...zstdWindow, ...options });
    },
    check: checkingZstd,
    open: () => createZstdDecompress(zstdWindow),
    beginning: beginningBy(zstdDecompressSync, zstd),
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
