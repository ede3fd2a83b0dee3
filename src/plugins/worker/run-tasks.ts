/**
 * The entry of the worker thread, which `create-worker.ts` starts. Also an entry of the executable.
 */
import { TASKS } from './tasks.ts';

declare const self: Worker;

self.onmessage = ({ data }: MessageEvent<{ task: keyof typeof TASKS; args: unknown[] }>) => {
  try {
    const work = TASKS[data.task] as (...args: unknown[]) => unknown;
    self.postMessage({ value: work(...data.args) });
  } catch (error) {
    self.postMessage({ error: error instanceof Error ? error.message : String(error) });
  }
};
