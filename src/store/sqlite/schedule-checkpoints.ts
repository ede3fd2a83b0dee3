/**
 * Copies the write-ahead log into the database in another thread: a checkpoint writes thousands of
 * pages and waits for the disk twice, for which the event loop would stand still. While it copies,
 * commits go on and the log grows. SQLite starts it over only when all of it has been copied, so
 * the next group of commits waits while the last few pages are.
 */
import type { Database as SqliteFile } from 'bun:sqlite';
import { type Clock, detachFromRequest, type Logger } from '../../kernel/index.ts';
import { createLogPages } from './count-log-pages.ts';

/**
 * Pages (4 KiB) in the write-ahead log before a checkpoint: 32 MB, where SQLite has 4. The more
 * there are, the more of them are pages that are written once instead of many times.
 */
export const CHECKPOINT_PAGES = 8000;
/**
 * Commits from one count of the pages to the next: a count takes as long as a statement. A large
 * group writes some 1,500 pages.
 */
const COUNTED_EVERY = 4;
/** Few enough to be copied and flushed in about the time of a commit's own flush. */
const REST_PAGES = 400;
/** Writers that are faster than the copies would never leave this few. */
const MAX_PASSES = 5;
/** A commit waits no longer than this for the last pages. */
const LONGEST_PAUSE_MS = 1000;

export type Checkpoints = {
  /** Call it after each commit. */
  noteCommit(): void;
  /** Call it before each transaction: undefined, or a promise that the transaction must await. */
  pause(): Promise<void> | undefined;
  close(): Promise<void>;
};

export function scheduleCheckpoints(
  file: SqliteFile,
  { clock, logger }: { clock: Clock; logger: Logger },
): Checkpoints {
  const thread = createCheckpointThread(file.filename);
  const log = createLogPages(file);
  let dueAt = CHECKPOINT_PAGES;
  let commits = 0;
  let closed = false;
  let state: 'waiting' | 'copying' | 'rest' | 'finishing' = 'waiting';

  /** Pages in the log that have been copied, and that have not. */
  function countPages(): { copied: number; left: number } {
    try {
      return log.count();
    } catch {
      // The disk fails, which the next commit reports.
      return { copied: 0, left: 0 };
    }
  }

  async function copy(): Promise<void> {
    state = 'copying';
    try {
      for (let pass = 1; pass <= MAX_PASSES; pass += 1) {
        const before = countPages().copied;
        log.note(await thread.run());
        if (closed) return;
        const { copied, left } = countPages();
        if (left <= REST_PAGES) break;
        // Somebody reads an old state, such as a backup: no commit needs to wait, since waiting
        // would not help.
        if (copied <= before) return endSequence();
      }
      state = 'rest';
    } catch (error) {
      // The log holds all that was committed. SQLite copies it itself when it has grown further.
      logger.warn({ err: error }, 'the write-ahead log could not be copied into the database');
      endSequence();
    }
  }

  async function finish(): Promise<void> {
    state = 'finishing';
    const pause = new AbortController();
    const copying = thread.run().then(log.note, () => undefined);
    await Promise.race([copying, clock.sleep(LONGEST_PAUSE_MS, pause.signal)]);
    pause.abort();
    endSequence();
  }

  /** What is left is in use by another process, or could not be written: tried again later. */
  function endSequence(): void {
    if (closed) return;
    dueAt = countPages().left + CHECKPOINT_PAGES;
    state = 'waiting';
  }

  return {
    noteCommit() {
      commits += 1;
      if (state !== 'waiting' || commits % COUNTED_EVERY !== 0) return;
      if (countPages().left >= dueAt) void detachFromRequest(copy);
    },
    pause: () => (state === 'rest' ? finish() : undefined),
    close() {
      closed = true;
      return thread.close().finally(log.close);
    },
  };
}

/** Copies the write-ahead log of a database into it, in another thread. */
export interface CheckpointThread {
  /**
   * One passive checkpoint: blocks no writer and waits for none. Resolves when all that it could
   * copy is on the disk, with the pages of the log that are copied by now.
   */
  run(): Promise<number>;
  /** Closes the thread's connection and ends the thread. */
  close(): Promise<void>;
}

/** A thread that can keep the process alive (`ref`) or not (`unref`). */
type Thread = Worker & { ref(): void; unref(): void };
type Reply = { copied?: number; error?: string };

/** A busy gateway needs the thread every other second. */
const IDLE_STOP_MS = 60_000;

/** In a bundle all modules are in one folder, and entries keep their path below `src`. */
const isBundled = import.meta.url.includes('$bunfs') || import.meta.url.includes('~BUN');
const ENTRY = new URL(isBundled ? './store/sqlite/run-checkpoint.js' : './run-checkpoint.ts', import.meta.url).href;

/** Starts with the first checkpoint, which an idle gateway never needs. */
function createCheckpointThread(filename: string): CheckpointThread {
  let thread: Thread | undefined;
  let pending: PromiseWithResolvers<number> | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last: Promise<unknown> = Promise.resolve();

  function settle({ copied = 0, error }: Reply): void {
    const settled = pending;
    pending = undefined;
    thread?.unref();
    if (error === undefined) settled?.resolve(copied);
    else settled?.reject(new Error(error));
  }

  function start(): Thread {
    const started = new Worker(ENTRY, { smol: true }) as Thread;
    const fail = (error: string) => {
      if (thread !== started) return;
      thread = undefined;
      settle({ error });
    };
    started.onmessage = ({ data }: MessageEvent<Reply>) => {
      if (thread === started) settle(data);
    };
    started.onerror = ({ message }) => fail(message);
    started.addEventListener('close', () => fail('its thread ended'));
    return started;
  }

  function ask(message: { filename: string } | 'close'): Promise<number> {
    pending = Promise.withResolvers<number>();
    const { promise } = pending;
    try {
      thread ??= start();
      thread.ref();
      thread.postMessage(message);
    } catch (error) {
      settle({ error: error instanceof Error ? error.message : String(error) });
    }
    return promise;
  }

  /** One after the other: each answer belongs to the call before it. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  }

  const close = (): Promise<void> =>
    inTurn(async () => {
      if (!thread) return;
      await ask('close').catch(() => undefined);
      const ended = thread;
      thread = undefined;
      ended?.terminate();
    });

  return {
    run: () =>
      inTurn(async () => {
        clearTimeout(timer);
        try {
          return await ask({ filename });
        } finally {
          timer = setTimeout(() => void close(), IDLE_STOP_MS);
          timer.unref();
        }
      }),
    close() {
      clearTimeout(timer);
      return close();
    },
  };
}
