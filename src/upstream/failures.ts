import { InvalidAnswer } from './parse-answer.ts';
import type { UpstreamFailure } from './types.ts';

export const failure = (kind: UpstreamFailure['kind'], notSent: boolean, message: string): UpstreamFailure => ({
  kind,
  notSent,
  message,
});

/** A violation of our own rules, found before the first byte: nothing was sent. */
export const refused = (message: string): UpstreamFailure => failure('refused', true, message);

/**
 * Thrown by the name lookup, so that the request can tell a forbidden address from a name that does
 * not resolve.
 */
export class AddressRefused extends Error {}

/**
 * The system's error code, also of an error that aggregates the attempts on several addresses. Safe
 * to show.
 */
export function errorCode(error: unknown): string {
  const { code, errors } = (error ?? {}) as { code?: unknown; errors?: unknown };
  if (typeof code === 'string' && /^[A-Z0-9_]+$/.test(code)) return code;
  return Array.isArray(errors) && errors.length > 0 ? errorCode(errors[0]) : 'unknown';
}

const RESOLVER_CODES = /^(ENOTFOUND|EAI_\w+|ENODATA|ESERVFAIL|DNS_\w+)$/;

/** Why no connection was made. `reachedHost`: TCP connected, so the TLS handshake failed. */
export function connectFailure(error: unknown, reachedHost: boolean): UpstreamFailure {
  if (error instanceof AddressRefused) return refused(error.message);
  const code = errorCode(error);
  if (reachedHost) return failure('tls', true, `The TLS handshake with the vendor failed (${code}).`);
  if (RESOLVER_CODES.test(code)) return failure('dns', true, `The vendor's name could not be resolved (${code}).`);
  return failure('connect', true, `No connection to the vendor could be made (${code}).`);
}

/** A connection that ended early, or an answer that is not HTTP. The request may have been sent. */
export function brokenFailure(error?: unknown): UpstreamFailure {
  return error instanceof InvalidAnswer
    ? failure('broken', false, 'The vendor did not answer in valid HTTP.')
    : failure('broken', false, 'The connection ended before the answer was complete.');
}

export const abortedFailure = (notSent: boolean): UpstreamFailure =>
  failure('aborted', notSent, 'The request was cancelled.');
