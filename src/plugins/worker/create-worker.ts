import { pluginErrors } from '../errors.ts';
import type { Tasks } from './tasks.ts';

/**
 * A thread beside the event loop for work on foreign text that would hold it: syntax and manifest
 * of a plugin, differences, SVG icons, indexes of marketplaces.
 */
export interface PluginWorker {
  /**
   * Runs a task after those asked for before. Rejects with `plugins.unavailable` when it takes
   * longer than 30 seconds.
   */
  run<Name extends keyof Tasks>(
    task: Name,
    ...args: Parameters<Tasks[Name]>
  ): Promise<Awaited<ReturnType<Tasks[Name]>>>;
}

/** The runtime's threads keep the process alive, or do not. */
type Thread = Worker & { ref(): void; unref(): void };
type Reply = { value?: unknown; error?: string };
type Waiting = { task: string; args: unknown[]; resolve: (value: never) => void; reject: (error: unknown) => void };

/** Far more than any task takes on a busy machine. */
const MOST_MS = 30_000;
/** An idle thread ends, since it holds the memory of its largest task. */
const IDLE_MS = 5000;

/** Bundled, all modules lie in one folder, and the entries by their path below `src`. */
const isBundled = import.meta.url.includes('$bunfs') || import.meta.url.includes('~BUN');
const ENTRY = new URL(isBundled ? './plugins/worker/run-tasks.js' : './run-tasks.ts', import.meta.url).href;

/** Starts no thread before there is something to do. */
export function createPluginWorker(): PluginWorker {
  const waiting: Waiting[] = [];
  let thread: Thread | undefined;
  let busy: Waiting | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;

  function end(): void {
    thread?.terminate();
    thread = undefined;
  }

  function open(): Thread {
    const opened = new Worker(ENTRY, { smol: true }) as Thread;
    // A thread that was ended may still speak: the task of its successor is none of its business.
    const fail = (error: string) => {
      if (thread !== opened) return;
      end();
      settle({ error });
    };
    opened.onmessage = ({ data }: MessageEvent<Reply>) => {
      if (thread === opened) settle(data);
    };
    opened.onerror = ({ message }) => fail(message);
    opened.addEventListener('close', () => fail('its thread ended'));
    return opened;
  }

  function settle({ value, error }: Reply): void {
    const done = busy;
    busy = undefined;
    clearTimeout(timer);
    if (error === undefined) done?.resolve(value as never);
    else done?.reject(pluginErrors.unavailable({ message: `The plugin could not be judged: ${error}.` }));
    next();
  }

  function next(): void {
    if (busy) return;
    busy = waiting.shift();
    if (!busy) {
      timer = setTimeout(end, IDLE_MS);
      timer.unref();
      thread?.unref();
      return;
    }
    clearTimeout(timer);
    try {
      thread ??= open();
      thread.ref();
      thread.postMessage({ task: busy.task, args: busy.args });
    } catch (error) {
      end();
      settle({ error: error instanceof Error ? error.message : String(error) });
      return;
    }
    timer = setTimeout(() => {
      end();
      settle({ error: 'it took too long' });
    }, MOST_MS);
  }

  return {
    run: (task, ...args) =>
      new Promise((resolve, reject) => {
        waiting.push({ task, args, resolve: resolve as Waiting['resolve'], reject });
        next();
      }),
  };
}
