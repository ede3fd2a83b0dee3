import type { Counters } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { DecidingIp } from '../types.ts';
import { addressKey } from './address-key.ts';

/** `limit` requests per `windowSeconds`. */
type Window = { limit: number; windowSeconds: number };

/**
 * Counts one request of an address.
 *
 * @throws `auth.rate_limited` with the seconds to wait once the window is full.
 */
export type RequestLimit = (ip: DecidingIp) => Promise<void>;

/** The same per user, whatever the address. Each `scope` has its own count. */
export type UserLimit = (userId: number, scope: string) => Promise<void>;

/** Routes with the same `name` share the count of an address. */
export function createRequestLimit(counters: Counters, { name, ...window }: Window & { name: string }): RequestLimit {
  return (ip) => countRequest(counters, `${name}:${addressKey(ip)}`, window);
}

export function createUserLimit(counters: Counters, window: Window): UserLimit {
  return (userId, scope) => countRequest(counters, `critical-user:${userId}:${scope}`, window);
}

/**
 * Counts one request under `key`.
 *
 * @throws `auth.rate_limited` once the fixed window is full.
 */
export async function countRequest(counters: Counters, key: string, { limit, windowSeconds }: Window): Promise<void> {
  const { count, resetsInSeconds } = await counters.add(key, 1, windowSeconds);
  if (count > limit) throw authErrors.rate_limited({ retryAfterSeconds: resetsInSeconds });
}
