import fs from 'node:fs';
import { mkdir, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Logger, randomToken } from '../../kernel/index.ts';
import { httpErrors } from '../errors.ts';
import type { UploadBudget } from './upload-budget.ts';

/** Bytes of a file that stay in memory; what is larger goes to the disk. */
const KEPT_BYTES = 64 * 1024;
const READ_BYTES = 64 * 1024;
const SUFFIX = '.part';

/** A file of a client, complete. */
export type Upload = {
  size: number;
  /**
   * Its bytes, or those of a part of it, as often as they are asked for; throws when the disk
   * cannot give them. A chunk is good until the next is asked for.
   */
  stream(part?: { start: number; end: number }): AsyncIterable<Uint8Array>;
};

/** A file of a client that is still arriving. */
export type UploadWriter = {
  /** Throws http.upload_storage, http.uploads_limited. The chunk may be used again afterwards. */
  write(chunk: Uint8Array): Promise<void>;
  /** After the last `write`. Throws like it. */
  end(): Promise<Upload>;
  /** Lets go of the bytes; what was ended cannot be read any more. Never throws. */
  remove(): Promise<void>;
};

export type Uploads = { begin(): UploadWriter };

/** Where everybody's files are. */
export type UploadFolder = {
  /** For the files of one user. */
  of(userId: number | null): Uploads;
};

type Settings = { folder: string; room: UploadBudget; logger: Logger };

/**
 * Where clients' files wait for the vendor: `folder`, made here if it is absent and emptied of what
 * an earlier process left. On a system that lets open files lose their names they have none, so
 * that nobody can find them and the system itself removes them when the process dies; gateways that
 * share a folder therefore cannot take each other's files away.
 */
export function openUploads({ folder, room, logger }: Settings): UploadFolder {
  try {
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const name of fs.readdirSync(folder))
      if (name.endsWith(SUFFIX)) fs.rmSync(join(folder, name), { force: true });
  } catch (error) {
    // A gateway on PostgreSQL need not have a disk to write on; small files and all other requests
    // go on without one.
    logger.warn({ err: error, folder }, `files of clients above ${KEPT_BYTES} bytes cannot be stored and are refused`);
  }
  return {
    of: (userId) => ({
      begin() {
        let held = 0;
        const take = (bytes: number) => {
          room.take(userId, bytes);
          held += bytes;
        };
        const give = () => {
          room.give(userId, held);
          held = 0;
        };
        return createWriter(folder, take, give);
      },
    }),
  };
}

/**
 * `take` is asked before bytes go to the disk and throws where there is no room; `give` hears that
 * none are there any more.
 */
function createWriter(folder: string, take: (bytes: number) => void, give: () => void): UploadWriter {
  // One piece of memory for the whole file: thousands of short-lived ones would wait for the
  // garbage collector as a heap of their own.
  let memory: Uint8Array | undefined;
  let filled = 0;
  let size = 0;
  let file: TemporaryFile | undefined;

  async function flush(bytes: Uint8Array): Promise<void> {
    take(filled);
    try {
      file ??= await createFile(folder);
      await file.append(bytes.subarray(0, filled));
      filled = 0;
    } catch (cause) {
      throw httpErrors.upload_storage({ cause, retryAfterSeconds: 60 });
    }
  }

  return {
    async write(chunk) {
      memory ??= new Uint8Array(KEPT_BYTES);
      for (let at = 0; at < chunk.byteLength; ) {
        if (filled === KEPT_BYTES) await flush(memory);
        const piece = chunk.subarray(at, at + KEPT_BYTES - filled);
        memory.set(piece, filled);
        filled += piece.byteLength;
        at += piece.byteLength;
      }
      size += chunk.byteLength;
    },
    async end() {
      const rest = memory;
      memory = undefined;
      if (!file) {
        const whole = rest?.slice(0, filled) ?? new Uint8Array();
        return { size, stream: (part) => once(part ? whole.subarray(part.start, part.end) : whole) };
      }
      if (rest) await flush(rest);
      const { read } = file;
      return { size, stream: ({ start, end } = { start: 0, end: size }) => read(start, end) };
    },
    async remove() {
      await file?.remove().catch(() => undefined);
      give();
    },
  };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  if (bytes.byteLength > 0) yield bytes;
}

type TemporaryFile = {
  append(bytes: Uint8Array): Promise<void>;
  read(start: number, end: number): AsyncIterable<Uint8Array>;
  remove(): Promise<void>;
};

// By descriptors: a forgotten one is a leak, while a forgotten FileHandle ends the process when it
// is collected.
const openFile = promisify(fs.open);
const readAt = promisify(fs.read);
const writeSome = promisify(fs.write);
const closeFile = promisify(fs.close);

async function createFile(folder: string): Promise<TemporaryFile> {
  const path = join(folder, `${randomToken(24)}${SUFFIX}`);
  const descriptor = await openFile(path, 'wx+', 0o600).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    // Somebody tidied up.
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return openFile(path, 'wx+', 0o600);
  });
  const isNameless = await unlink(path).then(
    () => true,
    () => false,
  );
  let isClosed = false;
  const reading = new Set<Promise<unknown>>();
  /**
   * A vendor that answers early may still be sent the file: the system gives the number of a closed
   * one to the next, which is somebody else's.
   */
  async function readOpen(memory: Uint8Array, length: number, at: number): Promise<number> {
    if (isClosed) throw new Error('the file of the request is gone');
    const read = readAt(descriptor, memory, 0, length, at);
    reading.add(read);
    return (await read.finally(() => reading.delete(read))).bytesRead;
  }
  return {
    async append(bytes) {
      for (let at = 0; at < bytes.byteLength; ) {
        const { bytesWritten } = await writeSome(descriptor, bytes, at, bytes.byteLength - at, null);
        if (bytesWritten === 0) throw new Error('the disk takes no more');
        at += bytesWritten;
      }
    },
    read: (start, end) => readPieces(readOpen, start, end),
    async remove() {
      if (isClosed) return;
      isClosed = true;
      await Promise.allSettled(reading);
      await closeFile(descriptor);
      if (!isNameless) await rm(path, { force: true });
    },
  };
}

/** At positions of its own, so that several can read at once; always into the same memory. */
async function* readPieces(
  read: (memory: Uint8Array, length: number, at: number) => Promise<number>,
  start: number,
  end: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const memory = new Uint8Array(Math.min(READ_BYTES, end - start));
  for (let at = start; at < end; ) {
    const bytesRead = await read(memory, Math.min(memory.byteLength, end - at), at);
    if (bytesRead === 0) throw new Error('a file of the request has become shorter');
    at += bytesRead;
    yield memory.subarray(0, bytesRead);
  }
}
