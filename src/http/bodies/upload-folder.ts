import fs from 'node:fs';
import { mkdir, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describeBytes, type Logger, randomToken, sentence } from '../../kernel/index.ts';
import { httpErrors } from '../responses/errors.ts';

/** Files up to this size stay in memory; larger ones go to disk. */
const MEMORY_BYTES = 64 * 1024;
const READ_BYTES = 64 * 1024;
const SUFFIX = '.part';

/** A complete file of a client. */
export type Upload = {
  size: number;
  /**
   * Reads the file, or the bytes from `start` to `end`, any number of times. A chunk is valid until
   * the next one is requested. Throws when the disk cannot be read.
   */
  stream(part?: { start: number; end: number }): AsyncIterable<Uint8Array>;
};

/** Writes a file that is still arriving. */
export type UploadWriter = {
  /** You may reuse the chunk afterwards. @throws http.upload_storage, http.uploads_limited */
  write(chunk: Uint8Array): Promise<void>;
  /** Call this after the last `write`. @throws what `write` throws */
  end(): Promise<Upload>;
  /** Removes the file; its streams fail from then on. Never throws. */
  remove(): Promise<void>;
};

export type Uploads = { begin(): UploadWriter };

/** Where the files of one body are stored, and how large one may be. */
export type FileStorage = { uploads: Uploads; maxFileBytes: number };

/** The folder of all users' files. */
export type UploadFolder = {
  /** Stores files that count towards one user's budget. */
  of(userId: number | null): Uploads;
};

type UploadFolderConfig = { folder: string; budget: UploadBudget; logger: Logger };

/**
 * Opens the folder in which clients' files wait for the vendor. Creates it if it is absent, and
 * removes files that an earlier process left. On POSIX a file is unlinked right after opening: no
 * other process can open it, and the system removes it when this process dies. So gateways that
 * share a folder cannot remove each other's files.
 */
export function openUploadFolder({ folder, budget, logger }: UploadFolderConfig): UploadFolder {
  try {
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const name of fs.readdirSync(folder))
      if (name.endsWith(SUFFIX)) fs.rmSync(join(folder, name), { force: true });
  } catch (error) {
    // A gateway on PostgreSQL needs no writable disk: small files and all other requests work
    // without one.
    logger.warn(
      { err: error, folder },
      `cannot write to the upload folder; clients' files above ${describeBytes(MEMORY_BYTES)} are refused`,
    );
  }
  return {
    of: (userId) => ({
      begin() {
        let reserved = 0;
        return createWriter(folder, {
          reserve(bytes) {
            budget.reserve(userId, bytes);
            reserved += bytes;
          },
          releaseAll() {
            budget.release(userId, reserved);
            reserved = 0;
          },
        });
      },
    }),
  };
}

/** The budget of one file: reserved before bytes go to disk, released when the file is removed. */
type FileBudget = {
  /** @throws http.uploads_limited, http.upload_storage */
  reserve(bytes: number): void;
  releaseAll(): void;
};

function createWriter(folder: string, budget: FileBudget): UploadWriter {
  // One buffer for the whole file: thousands of short-lived buffers would pile up until the garbage
  // collector runs.
  let memory: Uint8Array | undefined;
  let filled = 0;
  let size = 0;
  let file: TemporaryFile | undefined;

  async function flush(bytes: Uint8Array): Promise<void> {
    budget.reserve(filled);
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
      memory ??= new Uint8Array(MEMORY_BYTES);
      for (let at = 0; at < chunk.byteLength; ) {
        if (filled === MEMORY_BYTES) await flush(memory);
        const piece = chunk.subarray(at, at + MEMORY_BYTES - filled);
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
      budget.releaseAll();
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

// Plain descriptors: a forgotten one is a leak, but a forgotten FileHandle ends the process when
// the garbage collector finds it.
const openFile = promisify(fs.open);
const readAt = promisify(fs.read);
const writeSome = promisify(fs.write);
const closeFile = promisify(fs.close);

async function createFile(folder: string): Promise<TemporaryFile> {
  const path = join(folder, `${randomToken(24)}${SUFFIX}`);
  const descriptor = await openFile(path, 'wx+', 0o600).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    // The folder was removed while the gateway runs.
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return openFile(path, 'wx+', 0o600);
  });
  const isUnlinked = await unlink(path).then(
    () => true,
    () => false,
  );
  let isClosed = false;
  const reading = new Set<Promise<unknown>>();
  /**
   * Refuses to read after the file was closed. A vendor that answers early may still be receiving
   * the file, and the system reuses the descriptor's number for another user's file.
   */
  async function readOpen(memory: Uint8Array, length: number, at: number): Promise<number> {
    if (isClosed) throw new Error('the uploaded file was removed while it was being read');
    const read = readAt(descriptor, memory, 0, length, at);
    reading.add(read);
    return (await read.finally(() => reading.delete(read))).bytesRead;
  }
  return {
    async append(bytes) {
      for (let at = 0; at < bytes.byteLength; ) {
        const { bytesWritten } = await writeSome(descriptor, bytes, at, bytes.byteLength - at, null);
        if (bytesWritten === 0) throw new Error('the disk accepts no more bytes');
        at += bytesWritten;
      }
    },
    read: (start, end) => readRange(readOpen, start, end),
    async remove() {
      if (isClosed) return;
      isClosed = true;
      await Promise.allSettled(reading);
      await closeFile(descriptor);
      if (!isUnlinked) await rm(path, { force: true });
    },
  };
}

/** Reads at explicit positions, so that several readers can share the file; reuses one buffer. */
async function* readRange(
  read: (memory: Uint8Array, length: number, at: number) => Promise<number>,
  start: number,
  end: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  const memory = new Uint8Array(Math.min(READ_BYTES, end - start));
  for (let at = start; at < end; ) {
    const bytesRead = await read(memory, Math.min(memory.byteLength, end - at), at);
    if (bytesRead === 0) throw new Error('an uploaded file became shorter while it was being read');
    at += bytesRead;
    yield memory.subarray(0, bytesRead);
  }
}

/** Bytes on disk at once, for files that are arriving or waiting to be sent to their vendor. */
type UploadLimits = { nodeBytes: number; userBytes: number };

export type UploadBudget = {
  /**
   * Reserves `bytes` of disk. `userId` null: counted for the node only.
   * @throws http.uploads_limited, http.upload_storage; nothing is reserved then
   */
  reserve(userId: number | null, bytes: number): void;
  release(userId: number | null, bytes: number): void;
};

const USER_RETRY_SECONDS = 5;
const NODE_RETRY_SECONDS = 60;

/** Shares the disk among users: neither one user's files nor those of all users fill it. */
export function createUploadBudget({ nodeBytes, userBytes }: UploadLimits): UploadBudget {
  let reserved = 0;
  const reservedByUser = new Map<number, number>();

  return {
    reserve(userId, bytes) {
      const own = userId === null ? 0 : (reservedByUser.get(userId) ?? 0);
      if (userId !== null && own + bytes > userBytes) {
        throw httpErrors.uploads_limited({
          message: sentence('http.files_together', { bytes: userBytes }),
          details: { limit_bytes: userBytes },
          retryAfterSeconds: USER_RETRY_SECONDS,
        });
      }
      if (reserved + bytes > nodeBytes) throw httpErrors.upload_storage({ retryAfterSeconds: NODE_RETRY_SECONDS });
      reserved += bytes;
      if (userId !== null) reservedByUser.set(userId, own + bytes);
    },
    release(userId, bytes) {
      reserved -= bytes;
      if (userId === null) return;
      const left = (reservedByUser.get(userId) ?? 0) - bytes;
      if (left > 0) reservedByUser.set(userId, left);
      else reservedByUser.delete(userId);
    },
  };
}
