import { ApiError } from './api-error.ts';

/**
 * A value for the header Idempotency-Key: 32 random hex digits. `crypto.randomUUID` is missing over
 * plain HTTP on a local network; this is not.
 */
export function createIdempotencyKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Answers that leave open what came of the request. */
const unknownOutcomeCodes = new Set([
  'UNREADABLE',
  'IDEMPOTENCY_IN_PROGRESS',
  'INTERNAL_ERROR',
  'STORE_UNAVAILABLE',
  'STORE_OUTCOME_UNKNOWN',
]);

/**
 * Whether a refusal settles what came of the request: only then is another try another request,
 * with another key.
 */
export const isOutcomeKnown = (error: unknown): boolean =>
  error instanceof ApiError && error.status > 0 && !unknownOutcomeCodes.has(error.code);
