import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib';
import type { StoredFile } from '../../store/ports/index.ts';

const READ_BYTES = 1024 * 1024;
/** zstd's own default: about as fast as a disk. */
const LEVEL = 3;

/** Takes bytes as they pass, and knows their digest at the end. */
export function createDigest(): { add(chunk: Uint8Array): void; result(): StoredFile } {
  const hash = new Bun.CryptoHasher('sha256');
  let bytes = 0;
  return {
    add(chunk) {
      hash.update(chunk);
      bytes += chunk.byteLength;
    },
    result: () => ({ sha256: hash.digest('hex'), bytes }),
  };
}

/** A step of a pipeline that hands bytes through. */
const watchedBy = ({ add }: ReturnType<typeof createDigest>): Transform =>
  new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      add(chunk);
      done(null, chunk);
    },
  });

/** The file compressed by zstd. `plain` is the digest of the file, once all has been read. */
export function compressFile(path: string): { stream: AsyncIterable<Uint8Array>; plain: () => StoredFile } {
  const digest = createDigest();
  const zip = createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: LEVEL } });
  const source = createReadStream(path, { highWaterMark: READ_BYTES });
  return { stream: through([source, watchedBy(digest), zip]), plain: digest.result };
}

/**
 * Reads a compressed stream to its end and gives what it contains to `write`. Returns the digests
 * of the stream and of its contents. Rejects when it is no such stream, or when it has more than
 * `maxBytes`.
 */
export async function decompress(
  stream: AsyncIterable<Uint8Array>,
  maxBytes: number,
  write: (chunk: Uint8Array) => Promise<void>,
): Promise<{ packed: StoredFile; plain: StoredFile }> {
  const packed = createDigest();
  const plain = createDigest();
  let bytes = 0;
  for await (const chunk of through([Readable.from(stream), watchedBy(packed), createZstdDecompress()])) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new Error('it contains more than its manifest says');
    plain.add(chunk);
    await write(chunk);
  }
  return { packed: packed.result(), plain: plain.result() };
}

/** Runs `work` with a function that appends to a new file, which is flushed at the end. */
export async function writeNewFile<T>(
  path: string,
  work: (write: (chunk: Uint8Array) => Promise<void>) => Promise<T>,
): Promise<T> {
  const handle = await open(path, 'wx', 0o600);
  try {
    const value = await work(async (chunk) => void (await handle.writeFile(chunk)));
    await handle.sync();
    return value;
  } finally {
    await handle.close();
  }
}

/** The bytes of a stream; undefined when it has more than `maxBytes`. */
export async function readBytes(stream: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The digest of a stream. */
export async function digestStream(stream: AsyncIterable<Uint8Array>): Promise<StoredFile> {
  const digest = createDigest();
  for await (const chunk of stream) digest.add(chunk);
  return digest.result();
}

/** The lines of a text, without their ends. A line may have `maxBytes` at most. */
export async function* readLines(stream: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<string> {
  let rest = Buffer.alloc(0);
  for await (const chunk of stream) {
    const text = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk]);
    let from = 0;
    for (let end = text.indexOf(10, from); end >= 0; end = text.indexOf(10, from)) {
      yield text.toString('utf8', from, end);
      from = end + 1;
    }
    rest = text.subarray(from);
    if (rest.length > maxBytes) throw new Error('a line is too long');
  }
  if (rest.length > 0) yield rest.toString('utf8');
}

type Step = NodeJS.ReadWriteStream;

/** What the last of several steps yields; a fault of any step rejects. */
async function* through(steps: [NodeJS.ReadableStream, ...Step[]]): AsyncGenerator<Uint8Array> {
  const last = steps.at(-1) as Transform;
  const done = pipeline(steps as never);
  // The iteration below rejects with the same fault.
  done.catch(() => undefined);
  for await (const chunk of last) yield chunk as Uint8Array;
  await done;
}
