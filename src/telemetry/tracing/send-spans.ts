import { promisify } from 'node:util';
import { gzip as gzipInThread } from 'node:zlib';
import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { Clock } from '../../kernel/index.ts';
import { retryAfterMs, type Upstream, type UpstreamBody } from '../../upstream/index.ts';
import type { CollectorSettings } from './types.ts';

const MAX_ANSWER_BYTES = 64 * 1024;
const MAX_RETRY_AFTER_MS = 300_000;
/** The statuses after which the protocol allows a batch to be sent again. */
const REPEATABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);

export type SendResult =
  /** `rejected`: spans that the collector did not take. */
  | { kind: 'sent'; rejected: number }
  /** `waitMs`: what the collector asks for; 0 if it says nothing. */
  | { kind: 'later'; reason: string; waitMs: number }
  /** Sending the batch again would change nothing. */
  | { kind: 'refused'; reason: string };

export type SendSpans = (spans: readonly ReadableSpan[], signal: AbortSignal) => Promise<SendResult>;

type Collector = Omit<CollectorSettings, 'certificate'> & { upstream: Upstream; clock: Clock };

/** Sends batches as OTLP in JSON. Reasons hold neither the address nor what the collector wrote. */
export function createSender({ url, headers, timeoutMs, gzip, upstream, clock }: Collector): SendSpans {
  return async (spans, signal) => {
    const json = JsonTraceSerializer.serializeRequest([...spans]) ?? new Uint8Array();
    const sent = await upstream.request({
      url,
      method: 'POST',
      headers: {
        ...headers,
        'content-type': 'application/json',
        ...(gzip ? { 'content-encoding': 'gzip' } : {}),
      },
      body: gzip ? toBody(await compress(json)) : { kind: 'text', text: new TextDecoder().decode(json) },
      privateHosts: [],
      isKnownHost: () => true,
      maxRedirects: 0,
      connectTimeoutMs: timeoutMs,
      headersTimeoutMs: timeoutMs,
      idleTimeoutMs: timeoutMs,
      maxResponseBytes: MAX_ANSWER_BYTES,
      signal,
    });
    if (!sent.ok) {
      const { kind } = sent.error;
      return kind === 'refused' ? { kind: 'refused', reason: sent.error.message } : later(kind, 0);
    }
    const { status, headers: answered } = sent.value;
    const answer = await sent.value.bytes();
    if (status >= 200 && status < 300) return { kind: 'sent', rejected: answer.ok ? countRejected(answer.value) : 0 };
    const reason = `status ${status}`;
    if (!REPEATABLE.has(status)) return { kind: 'refused', reason };
    return later(reason, retryAfterMs(answered['retry-after']?.[0], clock.nowMs(), MAX_RETRY_AFTER_MS));
  };
}

/** Runs in another thread. */
const compress = promisify(gzipInThread);

const toBody = (bytes: Uint8Array): UpstreamBody => ({
  kind: 'pieces',
  pieces: [
    {
      size: bytes.byteLength,
      async *stream() {
        yield bytes;
      },
    },
  ],
});

const later = (reason: string, waitMs: number): SendResult => ({ kind: 'later', reason, waitMs });

/** The collector took the batch, and may say that it left some spans out. */
function countRejected(answer: Uint8Array): number {
  try {
    const { partialSuccess } = JsonTraceSerializer.deserializeResponse(answer);
    // As JSON, numbers of 64 bits are texts.
    const rejected = Number(partialSuccess?.rejectedSpans ?? 0);
    return Number.isFinite(rejected) && rejected > 0 ? rejected : 0;
  } catch {
    return 0;
  }
}
