/**
 * Limits of the panel's routes and of mailed codes, by address and by user. Requests to models have
 * theirs in `limit-model-requests.ts`.
 */
import ipaddr from 'ipaddr.js';
import type { Counters } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { DecidingIp } from '../principals.ts';

/** `limit` requests per `windowSeconds`. */
type Window = { limit: number; windowSeconds: number };

/**
 * Counts one request of an address.
 *
 * @throws `auth.rate_limited` with the seconds to wait once the window is full.
 */
export type RequestLimit = (ip: DecidingIp) => Promise<void>;

/** Limits each user, whatever the address. Each `scope` has its own count. */
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
async function countRequest(counters: Counters, key: string, { limit, windowSeconds }: Window): Promise<void> {
  const { count, resetsInSeconds } = await counters.add(key, 1, windowSeconds);
  if (count > limit) throw authErrors.rate_limited({ retryAfterSeconds: resetsInSeconds });
}

/** An IPv4 address in its usual form, which most are: it is its own key. */
const IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

/**
 * The part of an address that limits count by: an IPv4 address, or the first 64 bits of an IPv6
 * address, since one customer usually holds the whole /64. IPv4 inside IPv6 counts as IPv4.
 */
export function addressKey(ip: DecidingIp): string {
  if (IPV4.test(ip) || !ipaddr.isValid(ip)) return ip;
  const address = ipaddr.process(ip);
  if (!(address instanceof ipaddr.IPv6)) return address.toString();
  return `${address.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`;
}
