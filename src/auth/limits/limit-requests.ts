import type { Counters } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import { addressKey } from './address-key.ts';

/** Counts one request of an address; rejects with `auth.rate_limited` and the seconds to wait once the window is full. */
export type RequestLimit = (ip: string) => Promise<void>;

/** `limit` requests per `windowSeconds` and address; all routes that share `name` share the count. */
export function createRequestLimit(
  counters: Counters,
  { name, limit, windowSeconds }: { name: string; limit: number; windowSeconds: number },
): RequestLimit {
  return async (ip) => {
    const { count, resetsInSeconds } = await counters.add(`${name}:${addressKey(ip)}`, 1, windowSeconds);
    if (count > limit) throw authErrors.rate_limited({ retryAfterSeconds: resetsInSeconds });
  };
}
