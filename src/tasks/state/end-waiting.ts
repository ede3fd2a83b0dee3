import { type AppError, type Sentence, toSentence } from '../../kernel/index.ts';
import type { TaskRecord } from '../../store/ports/index.ts';
import type { TaskDeps } from '../types.ts';
import { finishTask } from './finish-task.ts';
import { toStoredFailure } from './stored-failure.ts';

/**
 * Ends a task that waits, with a refund. What takes it out of its line wins: this, a dispatch, or
 * another end. It keeps its Idempotency-Key. False: it does not wait any more.
 */
export const endWaiting = (
  deps: TaskDeps,
  task: TaskRecord,
  { error, reason = toSentence(error) }: { error: AppError; reason?: Sentence },
): Promise<boolean> =>
  finishTask(deps, {
    task,
    ending: { status: 'FAILURE', reason },
    change: { execution: { ...task.execution, failure: toStoredFailure(error) } },
    waits: true,
  });
