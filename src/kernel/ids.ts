import { randomBytes, randomInt, randomUUID } from 'node:crypto';

const ALNUM = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/**
 * Chance as a parameter, so that a simulation can repeat it: for spread times, weights and ids of
 * rows. What must be secret comes from `systemRandom`.
 */
export interface Random {
  bytes(length: number): Uint8Array;
  /** An integer in `[0, below)`. */
  below(below: number): number;
}

/** The system's CSPRNG. */
export const systemRandom: Random = { bytes: (length) => randomBytes(length), below: (below) => randomInt(0, below) };

/** `length` characters of A-Z, a-z and 0-9, unbiased (5.95 bits each). */
export function randomAlnum(length: number, random = systemRandom): string {
  let out = '';
  while (out.length < length) {
    // 248 is the largest multiple of 62 below 256: larger bytes would favour the first characters.
    for (const byte of random.bytes(length * 2)) {
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

/**
 * Whether a client's Idempotency-Key is accepted. Keys should be random: 1 to 255 printable ASCII
 * characters are more than any client needs.
 */
export const isIdempotencyKey = (key: string): boolean => /^[\x20-\x7e]{1,255}$/.test(key);

/**
 * A public task id: `task_` and 32 letters and digits, of which 23 are random (137 bits). The first
 * nine are the time, so that a database adds ids at the end of an index, where the latest pages are
 * changed again, instead of on a page of its own for each.
 */
export const newTaskId = (nowMs: number, random = systemRandom): string =>
  `task_${timePrefix(nowMs)}${randomAlnum(23, random)}`;

/** The id of a batch: `batch_`, then as in `newTaskId`. */
export const newBatchId = (nowMs: number, random = systemRandom): string =>
  `batch_${timePrefix(nowMs)}${randomAlnum(23, random)}`;

/** The id of a file of a batch: `file-`, then as in `newTaskId`. */
export const newFileId = (nowMs: number, random = systemRandom): string =>
  `file-${timePrefix(nowMs)}${randomAlnum(23, random)}`;
/** The part of a file's id that grows with its time; undefined: `id` is not the id of a file. */
export const fileIdTime = (id: string): string | undefined => /^file-([a-z0-9]{9})[A-Za-z0-9]{23}$/.exec(id)?.[1];

export const RELAY_PREFIX = 'relay_';

/** The id of a relayed request: its prefix, then as in `newTaskId`. */
export const newRelayId = (nowMs: number, random = systemRandom): string =>
  `${RELAY_PREFIX}${timePrefix(nowMs)}${randomAlnum(23, random)}`;

/**
 * Nine digits of base 36, enough until the year 5188. Digits come before small letters in every
 * collation.
 */
const timePrefix = (nowMs: number): string => Math.floor(nowMs).toString(36).padStart(9, '0');

/**
 * The id of a webhook: `msg_` and 27 characters of A-Z, a-z and 0-9. It has no full stop, because
 * the signed text is delimited by full stops.
 */
export const newMessageId = (random = systemRandom): string => `msg_${randomAlnum(27, random)}`;

/**
 * `value` changed by a random share of at most `fraction` in either direction; spreads events that
 * would otherwise coincide.
 */
export function jitter(value: number, fraction: number, random = systemRandom): number {
  return Math.round(value * (1 + (fraction * (random.below(2001) - 1000)) / 1000));
}

/** An integer in `[0, below)`; for weighted choice. */
export const randomBelow = (below: number): number => randomInt(0, below);
