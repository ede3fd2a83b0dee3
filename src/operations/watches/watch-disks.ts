import { open, statfs, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, type Logger, type Sentence, sentence, sleepInStep } from '../../kernel/index.ts';
import { LOW_SPACE_BYTES } from '../start/prepare-data-dir.ts';

/** While requests or polls come, or a disk has a fault. Readiness trusts no older reading. */
const CHECK_EVERY_MS = 5_000;
/** While nothing happens that would write. */
const IDLE_CHECK_MS = 15_000;
/** A file system may still have this much free when SQLite can no longer write a page. */
const PROBE_BYTES = 64 * 1024;
/** One fixed name, so that killed processes leave one file at most. */
const PROBE_FILE = '.disk-probe';

const FOLDER_REASONS = { data: 'disk.data', uploads: 'disk.uploads' } as const;

export type WatchedFolder = { name: keyof typeof FOLDER_REASONS; path: string };
/** The result of one probe; `fault` completes the sentence "The disk of the folder …". */
export type DiskReading = { freeBytes?: number; fault?: Sentence };
export type DiskState = WatchedFolder & DiskReading;

export type DiskWatch = ReturnType<typeof createDiskWatch>;

/**
 * Checks whether the gateway's folders can be written, and how much space is free: every five
 * seconds, and every fifteen while nothing happens. A folder counts from its first successful
 * probe: a node on PostgreSQL may have none.
 * `databaseFault` says in a sentence why the database's latest write failed.
 */
export function createDiskWatch(deps: {
  folders: readonly WatchedFolder[];
  clock: Clock;
  logger: Logger;
  databaseFault: () => Sentence | undefined;
  /** Whether requests or polls came within the last second. */
  isActive: () => boolean;
  probe?: (path: string) => Promise<DiskReading>;
}) {
  const { folders, clock, logger, databaseFault, isActive, probe = probeFolder } = deps;
  const states = new Map<string, DiskState>();
  const stopping = new AbortController();
  let watching: Promise<void> = Promise.resolve();
  let checkedAtMs = Number.NEGATIVE_INFINITY;

  async function check(): Promise<void> {
    checkedAtMs = clock.monotonicMs();
    await Promise.all(
      folders.map(async (folder) => {
        const reading = await probe(folder.path);
        const before = states.get(folder.name);
        if (!before && reading.fault !== undefined) return;
        states.set(folder.name, { ...folder, ...reading });
        if (before?.fault?.message === reading.fault?.message) return;
        if (reading.fault === undefined) {
          if (before) logger.info({ folder: folder.path }, 'the disk can be written again');
        } else logger.error({ folder: folder.path }, describe(folder, reading.fault).message);
      }),
    );
  }

  /** One sentence for each folder or database that cannot be written. */
  const faults = (): Sentence[] => {
    const found = [...states.values()].flatMap(({ fault, ...folder }) => (fault ? [describe(folder, fault)] : []));
    const writeFault = databaseFault();
    return found.length === 0 && writeFault !== undefined ? [writeFault] : found;
  };

  return {
    faults,
    states: (): DiskState[] => [...states.values()],
    /** Folders with little free space. */
    low: (): DiskState[] => [...states.values()].filter(({ freeBytes = Infinity }) => freeBytes < LOW_SPACE_BYTES),
    /** False while the database, or the data directory it lies in, cannot be written. */
    canStore: (): boolean => states.get('data')?.fault === undefined && databaseFault() === undefined,
    /** Why something cannot be written, in a sentence; looks now if the latest look is old. */
    async findFault(): Promise<Sentence | undefined> {
      if (clock.monotonicMs() - checkedAtMs > CHECK_EVERY_MS) await check();
      return faults()[0];
    },
    check,
    async start(): Promise<void> {
      await check();
      watching = (async () => {
        while (!stopping.signal.aborted) {
          const isQuiet = !isActive() && faults().length === 0;
          await sleepInStep(clock, isQuiet ? IDLE_CHECK_MS : CHECK_EVERY_MS, stopping.signal);
          if (!stopping.signal.aborted) await check();
        }
      })();
    },
    async stop(): Promise<void> {
      stopping.abort();
      await watching;
    },
  };
}

const describe = ({ name }: WatchedFolder, fault: Sentence): Sentence => sentence(FOLDER_REASONS[name], { fault });

const FAULTS: Readonly<Record<string, Sentence>> = {
  ENOSPC: sentence('disk.full'),
  EDQUOT: sentence('disk.quota'),
  EROFS: sentence('disk.read_only'),
};

/** Writes and removes 64 KiB: a full disk still accepts an empty file. */
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
      if (bytesWritten < PROBE_BYTES) return { ...free, fault: sentence('disk.full') };
    } finally {
      await handle.close();
    }
    return free;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    return { ...free, fault: FAULTS[code] ?? sentence('disk.unwritable', { code: code || 'unknown reason' }) };
  } finally {
    await unlink(file).catch(() => undefined);
  }
}
