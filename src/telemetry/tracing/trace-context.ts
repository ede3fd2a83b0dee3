import type { SpanContext } from '@opentelemetry/api';

const SAMPLED = 1;
/** Versions above 00 may add fields; ff is none. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[\x21-\x7e]{0,400})?$/;
const ZEROS = /^0+$/;
const MAX_CHARACTERS = 512;

/** The context in a W3C traceparent; undefined for anything else. */
export function readTraceparent(text: string | null | undefined): SpanContext | undefined {
  if (text === null || text === undefined || text.length > MAX_CHARACTERS) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', more] = TRACEPARENT.exec(text) ?? [];
  if (version === undefined || ZEROS.test(traceId) || ZEROS.test(spanId)) return undefined;
  if (version === '00' && more !== undefined) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & SAMPLED, isRemote: true };
}

export const writeTraceparent = ({ traceId, spanId, traceFlags }: SpanContext): string =>
  `00-${traceId}-${spanId}-${(traceFlags & SAMPLED) === 0 ? '00' : '01'}`;

export const isSampled = ({ traceFlags }: SpanContext): boolean => (traceFlags & SAMPLED) !== 0;
