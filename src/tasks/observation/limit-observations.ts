import { createSemaphore, type Slot, sentence } from '../../kernel/index.ts';
import { vendorErrors } from '../../vendors/index.ts';
import type { ObservationLimit, ObservationLimits } from '../task-node.ts';

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
