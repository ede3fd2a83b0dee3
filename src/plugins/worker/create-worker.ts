import { quoted, type Sentence, sentence } from '../../kernel/index.ts';
import { pluginErrors } from '../errors.ts';
import type { Jobs } from './worker-jobs.ts';

/**
 * A thread for work on untrusted text that would block the event loop: syntax and manifest of a
 * plugin, diffs, SVG icons, indexes of marketplaces.
 */
export interface PluginWorker {
  /**
   * Runs jobs one at a time, in order. Rejects with `plugins.unavailable` when a job takes longer
   * than 30 seconds.
   */
  run<Name extends keyof Jobs>(job: Name, ...args: Parameters<Jobs[Name]>): Promise<Awaited<ReturnType<Jobs[Name]>>>;
}

/** A thread that can keep the process alive (`ref`) or not (`unref`). */
type Thread = Worker & { ref(): void; unref(): void };
type Reply = { value?: unknown; error?: string | Sentence };
type Waiting = { job: string; args: unknown[]; resolve: (value: never) => void; reject: (error: unknown) => void };

/** Far longer than any job takes on a busy machine. */
const JOB_TIMEOUT_MS = 30_000;
/** An idle thread ends after this time, to free the memory of its largest job. */
const IDLE_STOP_MS = 5000;

/** In a bundle all modules are in one folder, and entries keep their path below `src`. */
const isBundled = import.meta.url.includes('$bunfs') || import.meta.url.includes('~BUN');
const ENTRY = new URL(isBundled ? './plugins/worker/worker-entry.js' : './worker-entry.ts', import.meta.url).href;

/** Starts the thread with the first job. */
export function createPluginWorker(): PluginWorker {
  const waiting: Waiting[] = [];
  let thread: Thread | undefined;
  let busy: Waiting | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function end(): void {
    thread?.terminate();
    thread = undefined;
  }

  function start(): Thread {
    const started = new Worker(ENTRY, { smol: true }) as Thread;
    // A terminated thread may still send messages, which must not settle its successor's job.
    const fail = (error: string | Sentence) => {
      if (thread !== started) return;
      end();
      settle({ error });
    };
    started.onmessage = ({ data }: MessageEvent<Reply>) => {
      if (thread === started) settle(data);
    };
    started.onerror = ({ message }) => fail(message);
    started.addEventListener('close', () => fail(sentence('plugins.check_ended')));
    return started;
  }

  function settle({ value, error }: Reply): void {
    const done = busy;
    busy = undefined;
    clearTimeout(timer);
    if (error === undefined) done?.resolve(value as never);
    else
      done?.reject(
        pluginErrors.unavailable({
          message: sentence('plugins.unchecked', { fault: typeof error === 'string' ? quoted(error) : error }),
        }),
      );
    runNext();
  }

  function runNext(): void {
    if (busy) return;
    busy = waiting.shift();
    if (!busy) {
      timer = setTimeout(end, IDLE_STOP_MS);
      timer.unref();
      thread?.unref();
      return;
    }
    clearTimeout(timer);
    try {
      thread ??= start();
      thread.ref();
      thread.postMessage({ job: busy.job, args: busy.args });
    } catch (error) {
      end();
      settle({ error: error instanceof Error ? error.message : String(error) });
      return;
    }
    timer = setTimeout(() => {
      end();
      settle({ error: sentence('plugins.check_late') });
    }, JOB_TIMEOUT_MS);
  }

  return {
    run: (job, ...args) =>
      new Promise((resolve, reject) => {
        waiting.push({ job, args, resolve: resolve as Waiting['resolve'], reject });
        runNext();
      }),
  };
}
