import { createConcurrencyLimit } from '../../../kernel/index.ts';
import { httpErrors } from '../../errors.ts';

/** Exports at the same time, on this node and of one user. */
const LIMITS = { node: 4, user: 1 } as const;
const RETRY_AFTER_SECONDS = 10;

export type ExportLimit = (userId: number) => () => void;

/** @throws http.exports_limited; else returns what ends the export's turn. */
export function createExportLimit(): ExportLimit {
  const limit = createConcurrencyLimit();
  return (userId) => {
    const slots = limit.acquire([
      { name: 'node', max: LIMITS.node },
      { name: `user ${userId}`, max: LIMITS.user },
    ]);
    if (slots.full) throw httpErrors.exports_limited({ retryAfterSeconds: RETRY_AFTER_SECONDS });
    return slots.release;
  };
}
