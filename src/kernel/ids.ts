import { randomBytes, randomInt, randomUUID } from 'node:crypto';

const ALNUM = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** `length` characters of A-Z, a-z and 0-9 from the system's CSPRNG, unbiased (5.95 bits each). */
export function randomAlnum(length: number): string {
  let out = '';
  while (out.length < length) {
    // 248 is the largest multiple of 62 below 256: larger bytes would favour the first characters.
    for (const byte of randomBytes(length * 2)) {
      if (byte < 248 && out.length < length) out += ALNUM[byte % 62];
    }
  }
  return out;
}

/** `bytes` random bytes as base64url without padding (32 bytes give 43 characters). */
export const randomToken = (bytes: number): string => randomBytes(bytes).toString('base64url');

/** `bytes` random bytes in plain base64, padded. */
export const randomBase64 = (bytes: number): string => randomBytes(bytes).toString('base64');

export const newUuid = (): string => randomUUID();

/** A public task id: `task_` and 32 letters and digits. */
export const newTaskId = (): string => `task_${randomAlnum(32)}`;

/** The id of a relayed request: `relay_` and 32 letters and digits. */
export const newRelayId = (): string => `relay_${randomAlnum(32)}`;

/**
 * The id of a webhook: `msg_` and 27 characters of A-Z, a-z and 0-9. It has no full stop, because
 * the signed text is delimited by full stops.
 */
export const newMessageId = (): string => `msg_${randomAlnum(27)}`;

/**
 * `value` changed by a random share of at most `fraction` in either direction; spreads events that
 * would otherwise coincide.
 */
export function jitter(value: number, fraction: number): number {
  return Math.round(value * (1 + (fraction * (randomInt(0, 2001) - 1000)) / 1000));
}

/** An integer in `[0, below)`; for weighted choice. */
export const randomBelow = (below: number): number => randomInt(0, below);
