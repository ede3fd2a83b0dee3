import { type CleanUpStep, QUOTA_PER_USD, sentence } from '../../kernel/index.ts';
import type { ResultDeps } from '../types.ts';

const GB = 1_000_000_000;

/**
 * Charges each user once a UTC day for what they keep then. The day is part of the line's unique
 * key, so that neither a repetition nor another node charges it again; what fails is charged by the
 * next run of the same day.
 */
export function createStorageCharge({ store, clock, storage }: ResultDeps): CleanUpStep {
  let chargedDay = '';
  return {
    step: 'storage charges',
    async deleteBatch() {
      const at = clock.unix();
      const day = new Date(at * 1000).toISOString().slice(0, 10);
      if (day === chargedDay) return 0;
      const { usdPerGbDayFor } = storage.settings();
      for (const { userId, walletId, group, bytes } of await store.results.usageByUser()) {
        const quota = Math.round((bytes / GB) * usdPerGbDayFor(group) * QUOTA_PER_USD);
        if (quota === 0) continue;
        const note = sentence('ledger.storage', { bytes, day });
        await store.ledger.grant({
          walletId,
          kind: 'storage',
          key: `storage:${userId}:${day}`,
          amount: -quota,
          note,
          at,
        });
      }
      chargedDay = day;
      return 0;
    },
  };
}
