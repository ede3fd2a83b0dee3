import { isOver } from '../../kernel/index.ts';
import type { AgedTask, Repositories, RetentionProgress, Store } from '../../store/ports/index.ts';
import { hasEnded } from '../../tasks/index.ts';
import type { RetentionStep } from './types.ts';

/** A task that ended this recently is left alone, however old it is: nobody may have seen it. */
const GRACE_SECONDS = 24 * 3600;
/** Skipped tasks are looked at again in every run while the way there is this short, in rows. */
const SHORT_WAY = 100_000;
/** … and else after this time. */
const LOOK_AGAIN_SECONDS = 7 * 24 * 3600;

export type Walk = {
  step: string;
  /** Names of the stored progress: kinds that are equally far are gone through together. */
  names: readonly [string, ...string[]];
  from: RetentionProgress;
  /** Unix seconds: tasks made later are not old. */
  createdUntil: number;
  /** Tasks for which this is true are left for later too. */
  isNeeded?: (task: AgedTask) => boolean;
  /** Changes old tasks that have ended; resolves to how many it changed. */
  visit: (tx: Repositories, tasks: readonly AgedTask[]) => Promise<number>;
};

/**
 * Goes through the tasks in order of creation, and stores with each batch how far it has come. A
 * process that is killed loses nothing: the next one goes on behind the last batch. What runs, or
 * is needed otherwise, is skipped and looked at again.
 */
export function walkTasks(store: Pick<Store, 'transaction'>, now: number, walk: Walk): RetentionStep {
  const { names, from, createdUntil } = walk;
  let progress = findStart(from, now);
  const isOld = ({ createdAt }: AgedTask) => createdAt <= createdUntil;
  return {
    step: walk.step,
    async run(limit) {
      return store.transaction(async (tx) => {
        const page = await tx.retention.tasksAfter(progress.position, limit);
        // Ids follow the time, but a clock may have been wrong once.
        const walked = page.slice(0, page.findLastIndex(isOld) + 1);
        const last = walked.at(-1);
        if (!last) return { walked: 0, changed: 0 };
        const isFree = (task: AgedTask) =>
          isOld(task) && hasEnded(task) && task.finishTime <= now - GRACE_SECONDS && !walk.isNeeded?.(task);
        const skipped = walked.find((task) => !isFree(task))?.id ?? 0;
        const changed = await walk.visit(tx, walked.filter(isFree));
        const next = { ...progress, position: last.id, skipped: progress.skipped || skipped };
        for (const name of names) await tx.retention.saveProgress(name, next);
        progress = next;
        return { walked: walked.length, changed };
      });
    },
  };
}

/** Where a run begins: behind the last one, or at what that one skipped. */
function findStart({ position, skipped, at }: RetentionProgress, now: number): RetentionProgress {
  const again =
    skipped > 0 &&
    (position - skipped <= SHORT_WAY || isOver(at + LOOK_AGAIN_SECONDS, { now, longest: LOOK_AGAIN_SECONDS }));
  return again ? { position: skipped - 1, skipped: 0, at: now } : { position, skipped, at };
}
