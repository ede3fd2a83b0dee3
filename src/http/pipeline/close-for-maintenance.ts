import { quoted } from '../../kernel/index.ts';
import { httpErrors } from '../responses/errors.ts';
import type { RequestLimits } from './types.ts';

/** `message`: the operator's words. */
export type Maintenance = { message: string; retryAfterSeconds: number };

/** Every submission is counted before it begins, so there all of them can be refused. */
export function closeForMaintenance(limits: RequestLimits, maintenance: () => Maintenance | undefined): RequestLimits {
  return {
    ...limits,
    async modelRequests(...counted) {
      const closed = maintenance();
      if (closed) throw httpErrors.maintenance({ ...closed, message: quoted(closed.message), shouldRetry: true });
      return limits.modelRequests(...counted);
    },
  };
}
