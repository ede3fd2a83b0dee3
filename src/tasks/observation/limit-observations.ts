import { createSemaphore, type Slot, sentence } from '../../kernel/index.ts';
import { hasEnded, type TaskRecord } from '../../store/ports/index.ts';
import { vendorErrors } from '../../vendors/index.ts';
import { isWaiting } from '../state/describe-task.ts';
import type { ObservationLimit, ObservationLimits, Observer } from '../task-node.ts';

const RETRY_AFTER_SECONDS = 5;

export function createObservationLimit(limits: ObservationLimits): ObservationLimit {
  const limit = createSemaphore<Slot & { scope: string }>();
  return {
    acquire({ pluginKey, userId, keyId }) {
      const slots = limit.tryAcquire([
        { name: 'node', max: limits.node, scope: 'on this gateway' },
        { name: `plugin ${pluginKey}`, max: limits.plugin, scope: `of the plugin "${pluginKey}"` },
        { name: `user ${userId}`, max: limits.user, scope: 'of your account' },
        ...(keyId === null ? [] : [{ name: `key ${keyId}`, max: limits.key, scope: 'with this API key' }]),
      ]);
      if (!slots.full) return slots.release;
      const { scope, max } = slots.full;
      throw vendorErrors.rate_limit_exceeded({
        message: sentence('tasks.watches', { scope, max }),
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    },
  };
}

/** An observation of one task, which counts unless the task waits. */
export type Observation = {
  /** Call it with the task before it is shown. @throws tasks.rate_limit_exceeded */
  see(task: Pick<TaskRecord, 'status' | 'phase'>): void;
  end(): void;
};

/** Looks at a task that waits take no room from those at running ones. */
export function observeTask(limit: ObservationLimit, observer: Observer): Observation {
  let release: (() => void) | undefined;
  let hasWaited = false;
  let isOver = false;
  const free = () => {
    release?.();
    release = undefined;
  };
  return {
    see(task) {
      if (isOver) return;
      if (isWaiting(task)) {
        hasWaited = true;
        free();
        // A client whose task ended while it waited only learns of the end.
      } else if (!(hasWaited && hasEnded(task))) release ??= limit.acquire(observer);
    },
    end() {
      isOver = true;
      free();
    },
  };
}
