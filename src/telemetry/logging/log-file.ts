import { closeSync, fstatSync, mkdirSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '../../kernel/index.ts';

const LINE_END = 10;
const FOLDER_MODE = 0o700;
/** A new file is its owner's alone: lines hold addresses and names of users. */
const FILE_MODE = 0o600;

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** The number of the day in the time zone of this process. */
const toDay = (ms: number): number => Math.floor((ms - new Date(ms).getTimezoneOffset() * MINUTE_MS) / DAY_MS);
/** A clock that is set back over midnight begins no new day, and one of another year does. */
const isAnotherDay = (today: number, last: number): boolean => today > last || today < last - 1;

export type LogFile = {
  /** Writes what fits and returns its bytes. @throws the platform's error */
  write(bytes: Uint8Array): number;
  /** The next write opens the file by its name. */
  reopen(): void;
  /** The rest of the last batch went elsewhere: the next write begins a line. */
  breakLine(): void;
};

type LogFileOptions = {
  path: string;
  /** Renamed before it grows larger. */
  maxBytes: number;
  /** Renamed files that are kept: `.1` is the newest. */
  keep: number;
  /** Given: it is also renamed before the first line of another day in this process's time zone. */
  daily?: Pick<Clock, 'nowMs'>;
};

/** `day`: of its last line. */
type Open = { fd: number; ino: number; bytes: number; day: number };

/**
 * A file that whole lines are appended to. When others have renamed or deleted it, or its folder,
 * it is recreated.
 */
export function openLogFile({ path, maxBytes, keep, daily }: LogFileOptions): LogFile {
  let open: Open | undefined;
  let isTorn = false;
  let breaksLine = false;

  const today = (): number => (daily ? toDay(daily.nowMs()) : 0);

  function close(): void {
    if (open) closeSync(open.fd);
    open = undefined;
  }

  function current(): Open {
    if (open && statSync(path, { throwIfNoEntry: false })?.ino !== open.ino) close();
    if (open) return open;
    mkdirSync(dirname(path), { recursive: true, mode: FOLDER_MODE });
    const fd = openSync(path, 'a', FILE_MODE);
    const { ino, size, mtimeMs } = fstatSync(fd);
    open = { fd, ino, bytes: size, day: daily && size > 0 ? toDay(mtimeMs) : today() };
    return open;
  }

  function rotate(): void {
    try {
      if (keep === 0) rmSync(path);
      for (let number = keep; number > 0; number -= 1) {
        const older = number === 1 ? path : `${path}.${number - 1}`;
        if (statSync(older, { throwIfNoEntry: false })) renameSync(older, `${path}.${number}`);
      }
      // A lowered LOG_FILE_KEEP leaves further ones, which would stay.
      for (let number = keep + 1; statSync(`${path}.${number}`, { throwIfNoEntry: false }); number += 1)
        rmSync(`${path}.${number}`);
    } catch {
      // The folder may not be changed: a large file is better than no file.
      return;
    }
    close();
  }

  return {
    write(bytes) {
      const last = current();
      if (breaksLine) last.bytes += writeSync(last.fd, '\n');
      breaksLine = false;
      const isOver = last.bytes + bytes.length > maxBytes || isAnotherDay(today(), last.day);
      if (!isTorn && last.bytes > 0 && isOver) rotate();
      const file = current();
      const written = writeSync(file.fd, bytes);
      file.bytes += written;
      // The rest of a torn line belongs to the day that it began on.
      if (!isTorn) file.day = Math.max(file.day, today());
      isTorn = written > 0 && bytes[written - 1] !== LINE_END;
      return written;
    },
    reopen: close,
    breakLine() {
      breaksLine = isTorn;
      isTorn = false;
    },
  };
}
