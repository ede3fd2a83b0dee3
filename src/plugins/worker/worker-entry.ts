/**
 * The entry of the worker thread, which `create-worker.ts` starts. Also an entry of the executable.
 */
import { JOBS } from './worker-jobs.ts';

declare const self: Worker;

self.onmessage = ({ data }: MessageEvent<{ job: keyof typeof JOBS; args: unknown[] }>) => {
  try {
    const work = JOBS[data.job] as (...args: unknown[]) => unknown;
    self.postMessage({ value: work(...data.args) });
  } catch (error) {
    self.postMessage({ error: error instanceof Error ? error.message : String(error) });
  }
};
