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
export function createCheckpointThread(filename: string): CheckpointThread {
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
