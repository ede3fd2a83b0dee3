import { type Clock, isOver } from '../../kernel/index.ts';
import { type AgedTask, hasEnded, type Store } from '../../store/ports/index.ts';
import { UNSTORED_SECONDS } from '../../tasks/index.ts';
import type { RetentionStep } from './retention-steps.ts';
import { CONTENT_PARTS, clearContent } from './strip-content.ts';

/**
 * Erases the answers of tasks of which nothing is to be stored: `store: false`, or a key that says
 * so; `tasks/submission/request-options.ts` reads both. So too the results of routes that retain
 * none, where no client took them. A result that is still being copied needs its answer. Kept
 * results stay by their own rule.
 */
export function eraseUnstoredStep({ store, clock }: { store: Store; clock: Clock }): RetentionStep {
  let after = '';
  return {
    step: 'answers that are not to be stored',
    async run(limit) {
      const found = await store.retention.unstoredTasks(after, limit);
      const now = clock.unix();
      const isDue = (task: AgedTask) =>
        hasEnded(task) &&
        task.result !== 'pending' &&
        isOver(task.finishTime + UNSTORED_SECONDS, { now, longest: UNSTORED_SECONDS });
      const due = found.filter(({ task }) => !task || isDue(task));
      const tasks = due.flatMap(({ task }) => task ?? []);
      await store.transaction(async (tx) => {
        await clearContent(
          tx,
          tasks.map(({ id }) => id),
          CONTENT_PARTS,
        );
        await tx.retention.forgetUnstored(due.map(({ taskId }) => taskId));
      });
      after = found.at(-1)?.taskId ?? after;
      return { walked: found.length, changed: tasks.length };
    },
  };
}
