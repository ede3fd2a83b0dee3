import { isStoreUnavailable, type PolledTask } from '../../store/ports/index.ts';
import type { TaskDeps } from '../types.ts';
import type { WritePolled } from './types.ts';

/**
 * How long a write waits for others to join its batch. No client waits for it, and a commit costs
 * the same for one row as for a hundred.
 */
const BATCH_WINDOW_MS = 25;
const MAX_BATCH = 128;

type Waiting = { polled: PolledTask; resolve(written: boolean): void; reject(error: unknown): void };

/** Collects writes and passes them to the store in batches; at once when `stopping` is aborted. */
export function createPollWriteBatcher(
  { store, clock }: Pick<TaskDeps, 'store' | 'clock'>,
  stopping: AbortSignal,
): WritePolled {
  let waiting: Waiting[] = [];

  async function write(batch: readonly Waiting[]): Promise<void> {
    try {
      const written = await store.tasks.advanceAll(batch.map(({ polled }) => polled));
      for (const [index, { resolve }] of batch.entries()) resolve(written[index] ?? false);
    } catch (error) {
      if (batch.length === 1 || isStoreUnavailable(error)) for (const { reject } of batch) reject(error);
      // One row that the database refuses must not keep the others from being written.
      else for (const entry of batch) void write([entry]);
    }
  }

  function flush(batch: Waiting[]): void {
    // A full batch is flushed before its window ends; later writes have a window of their own.
    if (batch !== waiting) return;
    waiting = [];
    void write(batch);
  }

  return (polled) =>
    new Promise((resolve, reject) => {
      const batch = waiting;
      batch.push({ polled, resolve, reject });
      if (batch.length === 1) void clock.sleep(BATCH_WINDOW_MS, stopping).then(() => flush(batch));
      else if (batch.length === MAX_BATCH) flush(batch);
    });
}
