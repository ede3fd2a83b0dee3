import type { Clock, Logger } from '../../kernel/index.ts';
import type { TaskStore } from '../../store/ports/index.ts';

/** Calls about one task within this time count as one; the last of them is followed at its end. */
const WINDOW_MS = 800;

/**
 * Makes a task's poll due when its vendor says that it has changed. Nothing that the call says is
 * trusted; `vendors/request/vendor-callbacks.ts` checks its address. However often a vendor calls,
 * it is asked at most twice in a window: at once, and again when a poll that was underway can no
 * longer have hidden the change.
 */
export function createCallbackFollower(deps: {
  store: { tasks: Pick<TaskStore, 'makeDue'> };
  clock: Clock;
  logger: Logger;
  /** Polls what is due now. */
  wake: () => void;
}): (taskId: string) => void {
  const { store, clock, logger, wake } = deps;
  const called = new Set<string>();

  async function makeDue(taskId: string): Promise<void> {
    try {
      if (await store.tasks.makeDue(taskId)) wake();
    } catch (error) {
      logger.warn(
        { err: error, task_id: taskId },
        "a vendor's call could not be recorded: the task is polled when it is due",
      );
    }
  }

  return (taskId) => {
    if (called.has(taskId)) return;
    called.add(taskId);
    void makeDue(taskId)
      .then(() => clock.sleep(WINDOW_MS))
      .then(() => {
        called.delete(taskId);
        return makeDue(taskId);
      });
  };
}
