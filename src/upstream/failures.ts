import { closeSync, openSync } from 'node:fs';
import { type Sentence, SentenceError, sentence, toSentence } from '../kernel/index.ts';
import { ProxyFailure } from './open-tunnel.ts';
import { InvalidAnswer } from './parse-answer.ts';
import type { UpstreamFailure } from './types.ts';

export const failure = (kind: UpstreamFailure['kind'], notSent: boolean, said: Sentence): UpstreamFailure => ({
  kind,
  notSent,
  ...said,
});

/** A violation of our own rules, found before the first byte: nothing was sent. */
export const refused = (said: Sentence): UpstreamFailure => failure('refused', true, said);

/**
 * Thrown by the name lookup, so that the request can tell a forbidden address from a name that does
 * not resolve.
 */
export class AddressRefused extends SentenceError {}

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

/**
 * The runtime says "refused" and "no such name" where this process may open nothing more.
 * Undefined: it may.
 */
function findExhaustion(): string | undefined {
  try {
    closeSync(openSync(process.execPath, 'r'));
    return undefined;
  } catch (error) {
    const code = errorCode(error);
    return code === 'EMFILE' || code === 'ENFILE' ? code : undefined;
  }
}

/** Why no connection was made. `reachedHost`: the TLS handshake failed. */
export function connectFailure(error: unknown, reachedHost: boolean): UpstreamFailure {
  if (error instanceof AddressRefused) return refused(toSentence(error));
  if (error instanceof ProxyFailure) return failure('connect', true, toSentence(error));
  const code = errorCode(error);
  const exhausted = findExhaustion();
  if (exhausted !== undefined) return failure('connect', true, sentence('upstream.descriptors', { code: exhausted }));
  if (reachedHost) return failure('tls', true, sentence('upstream.tls', { code }));
  if (RESOLVER_CODES.test(code)) return failure('dns', true, sentence('upstream.dns', { code }));
  return failure('connect', true, sentence('upstream.connect', { code }));
}

/** A connection that ended early, or an answer that is not HTTP. The request may have been sent. */
export function brokenFailure(error?: unknown): UpstreamFailure {
  return error instanceof InvalidAnswer
    ? failure('broken', false, sentence('upstream.http'))
    : failure('broken', false, sentence('upstream.ended'));
}

export const abortedFailure = (notSent: boolean): UpstreamFailure =>
  failure('aborted', notSent, sentence('upstream.cancelled'));

/** Longest Retry-After of a vendor that is obeyed. */
export const MAX_RETRY_AFTER_MS = 5 * 60_000;

/**
 * Milliseconds of a Retry-After header (seconds or an HTTP date), at most `maxMs`; 0 without one.
 */
export function retryAfterMs(header: string | undefined, nowMs: number, maxMs = MAX_RETRY_AFTER_MS): number {
  if (header === undefined) return 0;
  if (/^\d+$/.test(header.trim())) return Math.min(Number(header.trim()) * 1000, maxMs);
  const at = Date.parse(header);
  return Number.isNaN(at) ? 0 : Math.min(Math.max(0, at - nowMs), maxMs);
}
