import { open, statfs, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { NotReady } from '../../http/index.ts';
import type { Clock, Logger } from '../../kernel/index.ts';

const LOOK_EVERY_MS = 5_000;
/** As much as a file system may still have when SQLite cannot write a page any more. */
const PROBE_BYTES = 64 * 1024;
/** Always the same name, so that a process that is killed leaves one file at most. */
const PROBE_FILE = '.disk-probe';
/** Below this much free space an administrator is told. */
const LOW_SPACE_BYTES = 100 * 1024 * 1024;

const WORDS = { data: 'the data directory', uploads: 'the folder of uploads' } as const;

export type DiskPlace = { name: keyof typeof WORDS; path: string };
/** What one look at a folder found; `fault` completes "The disk of … is". */
export type DiskReading = { freeBytes?: number; fault?: string };
export type DiskState = DiskPlace & DiskReading;

export type DiskWatch = ReturnType<typeof createDiskWatch>;

/**
 * Looks every five seconds whether the folders that the gateway writes to can be written, and how
 * much is free. A folder counts from the first time that it could be written: a node on PostgreSQL
 * may have none. `databaseFault`: why the database's own latest write failed, in a sentence.
 */
export function createDiskWatch(deps: {
  places: readonly DiskPlace[];
  clock: Clock;
  logger: Logger;
  databaseFault: () => string | undefined;
  probe?: (path: string) => Promise<DiskReading>;
}) {
  const { places, clock, logger, databaseFault, probe = probeFolder } = deps;
  const states = new Map<string, DiskState>();
  const stopping = new AbortController();
  let watching: Promise<void> = Promise.resolve();

  async function look(): Promise<void> {
    await Promise.all(
      places.map(async (place) => {
        const reading = await probe(place.path);
        const before = states.get(place.name);
        if (!before && reading.fault !== undefined) return;
        states.set(place.name, { ...place, ...reading });
        if (before?.fault === reading.fault) return;
        if (reading.fault === undefined) {
          if (before) logger.info({ folder: place.path }, 'the disk can be written again');
        } else logger.error({ folder: place.path }, describe({ ...place, ...reading }));
      }),
    );
  }

  /** A sentence for each thing that cannot be written. */
  const faults = (): string[] => {
    const found = [...states.values()].filter(({ fault }) => fault !== undefined).map(describe);
    const ofDatabase = databaseFault();
    return found.length === 0 && ofDatabase !== undefined ? [ofDatabase] : found;
  };

  return {
    faults,
    states: (): DiskState[] => [...states.values()],
    /** Those with little space left. */
    low: (): DiskState[] => [...states.values()].filter(({ freeBytes = Infinity }) => freeBytes < LOW_SPACE_BYTES),
    /** False while nothing can be stored in a database that lies in the data directory. */
    canStore: (): boolean => states.get('data')?.fault === undefined && databaseFault() === undefined,
    /** Rejects with `NotReady` while something cannot be written. */
    async requireWritable(): Promise<void> {
      const [fault] = faults();
      if (fault !== undefined) throw new NotReady(fault);
    },
    look,
    async start(): Promise<void> {
      await look();
      watching = (async () => {
        while (!stopping.signal.aborted) {
          await clock.sleep(LOOK_EVERY_MS, stopping.signal);
          if (!stopping.signal.aborted) await look();
        }
      })();
    },
    async stop(): Promise<void> {
      stopping.abort();
      await watching;
    },
  };
}

const describe = ({ name, fault }: DiskState): string => `The disk of ${WORDS[name]} ${fault}.`;

const FAULTS: Readonly<Record<string, string>> = {
  ENOSPC: 'is full',
  EDQUOT: 'is full: its quota is used up',
  EROFS: 'is read-only',
};

/** Writes 64 KiB and removes them: a full disk still takes an empty file. */
async function probeFolder(path: string): Promise<DiskReading> {
  const freeBytes = await statfs(path).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => undefined,
  );
  const free = freeBytes === undefined ? {} : { freeBytes };
  const file = join(path, PROBE_FILE);
  try {
    const handle = await open(file, 'w', 0o600);
    try {
      const { bytesWritten } = await handle.write(Buffer.alloc(PROBE_BYTES));
      if (bytesWritten < PROBE_BYTES) return { ...free, fault: 'is full' };
    } finally {
      await handle.close();
    }
    return free;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    return { ...free, fault: FAULTS[code] ?? `cannot be written${code ? ` (${code})` : ''}` };
  } finally {
    await unlink(file).catch(() => undefined);
  }
}
