import { AppError } from '../../kernel/index.ts';
import type { PolledTask } from '../../store/ports/index.ts';
import type { TaskDeps } from '../types.ts';

/**
 * What a poll has brought waits so long for others: nobody waits for it, and a commit costs the
 * same for one as for a hundred.
 */
const GATHER_MS = 25;
const MAX_TOGETHER = 128;

/** The codes of a store that may answer again. */
const AWAY: ReadonlySet<string> = new Set(['store.unavailable', 'store.outcome_unknown']);

export const isStoreUnavailable = (error: unknown): boolean => error instanceof AppError && AWAY.has(error.code);

/**
 * Writes what a poll has brought, under its claim. False: the claim was lost or the task has ended;
 * then nothing was written.
 */
export type WritePolled = (polled: PolledTask) => Promise<boolean>;

type Waiting = { polled: PolledTask; resolve(written: boolean): void; reject(error: unknown): void };

/** Gathers writes and hands them to the store together; at once when `stopping` is aborted. */
export function createPollWriteBatcher(
  { store, clock }: Pick<TaskDeps, 'store' | 'clock'>,
  stopping: AbortSignal,
): WritePolled {
  let waiting: Waiting[] = [];

  async function write(group: readonly Waiting[]): Promise<void> {
    try {
      const written = await store.tasks.advanceAll(group.map(({ polled }) => polled));
      for (const [index, { resolve }] of group.entries()) resolve(written[index] ?? false);
    } catch (error) {
      if (group.length === 1 || isStoreUnavailable(error)) for (const { reject } of group) reject(error);
      // One that the database refuses shall not keep the others from being written.
      else for (const entry of group) void write([entry]);
    }
  }

  function flush(group: Waiting[]): void {
    // A full one went before its time was over; those who came since have a time of their own.
    if (group !== waiting) return;
    waiting = [];
    void write(group);
  }

  return (polled) =>
    new Promise((resolve, reject) => {
      const group = waiting;
      group.push({ polled, resolve, reject });
      if (group.length === 1) void clock.sleep(GATHER_MS, stopping).then(() => flush(group));
      else if (group.length === MAX_TOGETHER) flush(group);
    });
}
