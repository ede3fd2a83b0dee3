import { batchCalls, nextTurn, ok } from '../../kernel/index.ts';
import { isStoreLocked, isStoreUnavailable } from '../../store/ports/index.ts';
import type { Transition, WriteTransition } from '../task-node.ts';
import type { TaskDeps } from '../types.ts';
import { recordTransition, type TransitionDeps } from './record-transition.ts';

type WriterDeps = TransitionDeps & Pick<TaskDeps, 'store'>;

const MAX_GROUP = 128;
/** Groups that wait for the database at once: one writes while another waits for the disk. */
const MAX_RUNNING = 2;

/** `gather`: how long a group waits for further transitions. */
export const createTransitionWriter = (deps: WriterDeps, gather: () => Promise<void> = nextTurn): WriteTransition =>
  batchCalls<Transition, boolean>({
    run: async (transitions) => (await writeAll(deps, transitions)).map(ok),
    maxSize: MAX_GROUP,
    maxRunning: MAX_RUNNING,
    gather,
    // One row that the database refuses must not keep the others from being written.
    divide: (error) => (isStoreLocked(error) || !isStoreUnavailable(error) ? 'by_call' : undefined),
  });

const writeAll = (deps: WriterDeps, transitions: readonly Transition[]): Promise<boolean[]> =>
  deps.store.transaction(async (tx) => {
    const written = await tx.tasks.advanceAll(transitions);
    for (const [index, { notify: task, change }] of transitions.entries())
      if (task && written[index]) await recordTransition(deps, tx, { task, change });
    return written;
  });
