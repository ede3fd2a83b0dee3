import { ApiError } from './api-error.ts';

/**
 * A value for the `Idempotency-Key` header: 32 random hex digits. `crypto.randomUUID` does not
 * exist over plain HTTP on a local network; `getRandomValues` does.
 */
export function createIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Codes after which the request may or may not have taken effect. */
const unknownOutcomeCodes = new Set([
  'UNREADABLE',
  'IDEMPOTENCY_IN_PROGRESS',
  'INTERNAL_ERROR',
  'STORE_UNAVAILABLE',
  'STORE_OUTCOME_UNKNOWN',
]);

/** Whether an error tells the outcome of the request. Only then does a retry need a new key. */
export const isOutcomeKnown = (error: unknown): boolean =>
  error instanceof ApiError && error.status > 0 && !unknownOutcomeCodes.has(error.code);
