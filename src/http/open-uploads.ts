import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { type FileHandle, mkdir, open, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type Logger, randomToken } from '../kernel/index.ts';
import { httpErrors } from './errors.ts';

/** Bytes of a file that stay in memory; what is larger goes to the disk. */
const KEPT_BYTES = 64 * 1024;
const READ_BYTES = 64 * 1024;
const SUFFIX = '.part';

/** A file of a client, complete. */
export type Upload = {
  size: number;
  /** Its bytes from the beginning, as often as they are asked for; throws when the disk cannot give them. */
  stream(): AsyncIterable<Uint8Array>;
};

/** A file of a client that is still arriving. */
export type UploadWriter = {
  /** Throws http.upload_storage. The chunk may be used again afterwards. */
  write(chunk: Uint8Array): Promise<void>;
  /** After the last `write`. */
  end(): Upload;
  /** Lets go of the bytes; what was ended cannot be read any more. Never throws. */
  remove(): Promise<void>;
};

export type Uploads = { begin(): UploadWriter };

/**
 * Where clients' files wait for the vendor: `folder`, made here if it is absent and emptied of what an earlier process left. On a system that lets
 * open files lose their names they have none, so that nobody can find them and the system itself removes them when the process dies; gateways
 * that share a folder therefore cannot take each other's files away.
 */
export function openUploads({ folder, logger }: { folder: string; logger: Logger }): Uploads {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const name of readdirSync(folder)) if (name.endsWith(SUFFIX)) rmSync(join(folder, name), { force: true });
  } catch (error) {
    // A gateway on PostgreSQL need not have a disk to write on; small files and all other requests go on without one.
    logger.warn({ err: error, folder }, `files of clients above ${KEPT_BYTES} bytes cannot be stored and are refused`);
  }
  return { begin: () => createWriter(folder) };
}

function createWriter(folder: string): UploadWriter {
  const kept: Uint8Array[] = [];
  let size = 0;
  let file: TemporaryFile | undefined;
  return {
    async write(chunk) {
      size += chunk.byteLength;
      if (!file && size <= KEPT_BYTES) {
        kept.push(new Uint8Array(chunk));
        return;
      }
      try {
        file ??= await createFile(folder);
        for (const earlier of kept.splice(0)) await file.append(earlier);
        await file.append(chunk);
      } catch (cause) {
        throw httpErrors.upload_storage({ cause, retryAfterSeconds: 60 });
      }
    },
    end: () => ({ size, stream: () => file?.read(size) ?? each(kept) }),
    async remove() {
      kept.length = 0;
      await file?.remove().catch(() => undefined);
    },
  };
}

async function* each(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array, void, undefined> {
  yield* chunks;
}

type TemporaryFile = {
  append(bytes: Uint8Array): Promise<void>;
  read(size: number): AsyncIterable<Uint8Array>;
  remove(): Promise<void>;
};

async function createFile(folder: string): Promise<TemporaryFile> {
  const path = join(folder, `${randomToken(24)}${SUFFIX}`);
  const handle = await openNew(path).catch(async (error: unknown) => {
    // Somebody tidied up.
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return openNew(path);
  });
  const nameless = await unlink(path).then(
    () => true,
    () => false,
  );
  return {
    async append(bytes) {
      for (let at = 0; at < bytes.byteLength; ) {
        const { bytesWritten } = await handle.write(bytes, at, bytes.byteLength - at);
        if (bytesWritten === 0) throw new Error('the disk takes no more');
        at += bytesWritten;
      }
    },
    read: (size) => readPieces(handle, size),
    async remove() {
      await handle.close();
      if (!nameless) await rm(path, { force: true });
    },
  };
}

const openNew = (path: string): Promise<FileHandle> => open(path, 'wx+', 0o600);

/** At positions of its own, so that several can read at once. */
async function* readPieces(handle: FileHandle, size: number): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = 0; at < size; ) {
    const { bytesRead, buffer } = await handle.read(new Uint8Array(Math.min(READ_BYTES, size - at)), { position: at });
    if (bytesRead === 0) throw new Error('a file of the request has become shorter');
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
