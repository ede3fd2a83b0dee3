import { KEEP_TRIES_MS, resultCleanUpSteps } from '../files/index.ts';
import type { CleanUpStep } from '../kernel/index.ts';
import { PREVIEW_KIND, type ResultRecord } from '../store/ports/index.ts';
import { createStorageCharge } from './copies/charge-storage.ts';
import { createResultWorker, type ResultStats } from './copies/result-worker.ts';
import type { ResultDeps } from './types.ts';

/** Lost results are counted for this long. */
const LOST_SECONDS = 7 * 86_400;

export type KeptUsage = {
  /** Whether anything is kept now. */
  isOffered: boolean;
  bytes: number;
  /** Number of kept files, with those of requests. */
  results: number;
  /** Null: no limit. */
  quotaBytes: number | null;
  /** 0: for ever. */
  days: number;
  usdPerGbDay: number;
};

export type Results = {
  start(): Promise<void>;
  /** Ends running copies, which other nodes or the next start make anew. */
  stop(): Promise<void>;
  /** Call after this process has written a wanted result. */
  wake(): void;
  stats(): ResultStats;
  /** Why nothing can be kept or served at this node; undefined if it can, as far as is known. */
  findFault(): Promise<string | undefined>;
  /** Results of all nodes: wanted, kept, and lost within a week; bytes and number of the files. */
  depth(): Promise<{ wanted: number; kept: number; lost: number; bytes: number; files: number }>;
  /** What is kept of a task, or is to be. */
  ofTask(taskId: string): Promise<ResultRecord[]>;
  /** What a user keeps, and on which terms. */
  usage(user: { id: number; group: string }): Promise<KeptUsage>;
  /** Tries again what was not kept of a task. Returns how many results that are. */
  retry(taskId: string): Promise<number>;
  readonly cleanUpSteps: readonly CleanUpStep[];
};

/** Results that stay when their vendor drops them: wanted, copied by any node, served, swept. */
export function createResults(deps: ResultDeps): Results {
  const { store, clock, results } = deps;
  const worker = createResultWorker(deps);
  return {
    async start() {
      if (store.dialect === 'sqlite') await store.results.expireLeases();
      worker.start();
    },
    stop: worker.stop,
    wake: worker.wake,
    stats: worker.stats,
    findFault: async () => (await results.files.findFault()) ?? worker.stats().placeFault,
    depth: () => store.results.depth(clock.unix() - LOST_SECONDS),
    async ofTask(taskId) {
      return (await store.results.ofTasks([taskId])).filter(({ kind }) => kind !== PREVIEW_KIND);
    },
    async usage({ id, group }) {
      const { keep, keepInputs, quotaOf, daysOf, usdPerGbDayOf } = results.settings();
      return {
        ...(await store.results.usage(id)),
        isOffered: keep !== 'off' || keepInputs,
        quotaBytes: quotaOf(group) ?? null,
        days: daysOf(group),
        usdPerGbDay: usdPerGbDayOf(group),
      };
    },
    async retry(taskId) {
      let retried = 0;
      for (const { id, state } of await this.ofTask(taskId)) {
        if (state !== 'kept' && (await store.results.retry(id, KEEP_TRIES_MS))) retried += 1;
      }
      worker.wake();
      return retried;
    },
    cleanUpSteps: [createStorageCharge(deps), ...resultCleanUpSteps(deps)],
  };
}
