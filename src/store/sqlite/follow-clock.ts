import { AppError, type Clock, detachFromRequest, type Logger, watchClock } from '../../kernel/index.ts';

/**
 * Moves the stored deadlines by `byMs` in one transaction. Calls `moved` at the end of its work,
 * before it commits.
 */
export type MoveDeadlines = (byMs: number, moved: () => void) => Promise<void>;

/** After a failure, the pause before the next try. */
const TRY_AGAIN_MS = 5000;

/**
 * The clock of a database that only this process writes. When the system's clock is set, this one
 * goes on as before until the stored deadlines have moved with it: so each is as far away as it was
 * when it was written. If they cannot be moved, that is tried again when the time is read
 * after a pause.
 */
export function followClock(clock: Clock, logger: Logger, move: MoveDeadlines): Clock {
  /** By how much the system's clock was set since then. */
  let behindMs = 0;
  let isMoving = false;
  let notBeforeMs = Number.NEGATIVE_INFINITY;
  const watch = watchClock(clock, (byMs) => {
    behindMs += byMs;
  });

  async function follow(): Promise<void> {
    isMoving = true;
    const byMs = behindMs;
    let isMoved = false;
    try {
      await move(byMs, () => {
        isMoved = true;
        behindMs -= byMs;
      });
    } catch (error) {
      // What the transaction had moved was rolled back, unless only its flush failed.
      const stands = error instanceof AppError && error.code === 'store.outcome_unknown';
      if (isMoved && !stands) behindMs += byMs;
      notBeforeMs = clock.monotonicMs() + TRY_AGAIN_MS;
      logger.warn({ err: error }, 'deadlines could not be moved with the clock; trying again');
    } finally {
      isMoving = false;
    }
  }

  return {
    ...clock,
    nowMs() {
      watch.check();
      if (behindMs !== 0 && !isMoving && clock.monotonicMs() >= notBeforeMs) void detachFromRequest(follow);
      return clock.nowMs() - behindMs;
    },
  };
}
