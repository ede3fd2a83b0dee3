import type { ReadableSpan, SpanProcessor } from '@opentelemetry/sdk-trace';
import { type Clock, jitter, type Logger } from '../../kernel/index.ts';
import type { SendResult, SendSpans } from './send-spans.ts';
import { isSampled } from './trace-context.ts';
import type { SpanFate } from './types.ts';

/** The sizes and the interval that OpenTelemetry recommends. */
const MAX_WAITING = 2048;
const BATCH = 512;
const INTERVAL_MS = 5000;
const FIRST_BACKOFF_MS = 1000;
const LONGEST_BACKOFF_MS = 60_000;
const JITTER = 0.2;

export type SpanQueue = {
  processor: SpanProcessor;
  /** Sends what waits, for at most `graceMs`; the rest is dropped. */
  stop(graceMs: number): Promise<void>;
};

type SpanQueueDeps = {
  send: SendSpans;
  /** Told what became of spans. */
  count: (fate: SpanFate, spans: number) => void;
  clock: Clock;
  logger: Logger;
};

/**
 * Ended spans on their way to the collector: one batch at a time, each until it is taken. While the
 * collector takes none, the queue fills and further spans are dropped. An outage is two log lines.
 */
export function createSpanQueue({ send, count, clock, logger }: SpanQueueDeps): SpanQueue {
  let waiting: ReadableSpan[] = [];
  let backoffMs = 0;
  let lost = 0;
  let isPumping = false;
  let pumping = Promise.resolve();
  /** Ends the pause before a batch that is not full. */
  let full = new AbortController();
  const stopping = new AbortController();
  const deadline = new AbortController();

  function drop(fate: 'dropped' | 'rejected', spans: number): void {
    if (spans === 0) return;
    lost += spans;
    count(fate, spans);
  }

  function onEnd(span: ReadableSpan): void {
    if (!isSampled(span.spanContext())) return;
    if (waiting.length >= MAX_WAITING || deadline.signal.aborted) {
      drop('dropped', 1);
      return;
    }
    waiting.push(span);
    if (waiting.length >= BATCH) full.abort();
    if (!isPumping) start();
  }

  function start(): void {
    isPumping = true;
    full = new AbortController();
    pumping = pump().finally(() => {
      isPumping = false;
      // One may have ended between the last look at the queue and here.
      if (waiting.length > 0 && !deadline.signal.aborted) start();
    });
  }

  async function pump(): Promise<void> {
    while (waiting.length > 0 && !deadline.signal.aborted) {
      if (waiting.length < BATCH && !stopping.signal.aborted) await clock.sleep(INTERVAL_MS, full.signal);
      full = new AbortController();
      const batch = waiting.slice(0, BATCH);
      const result = await send(batch, deadline.signal).catch(
        (error: unknown): SendResult => ({ kind: 'refused', reason: error instanceof Error ? error.name : 'unknown' }),
      );
      if (result.kind !== 'later') waiting = waiting.slice(batch.length);
      await settle(result, batch.length);
    }
  }

  async function settle(result: SendResult, spans: number): Promise<void> {
    if (result.kind === 'sent') {
      const rejected = Math.min(result.rejected, spans);
      count('exported', spans - rejected);
      drop('rejected', rejected);
      if (backoffMs > 0) logger.info({ lost_spans: lost }, 'traces are exported again');
      backoffMs = 0;
      lost = 0;
      return;
    }
    if (result.kind === 'refused') drop('dropped', spans);
    if (backoffMs === 0 && !deadline.signal.aborted) {
      logger.warn({ reason: result.reason }, 'traces could not be exported; trying again, at least once a minute');
    }
    backoffMs = Math.min(Math.max(FIRST_BACKOFF_MS, backoffMs * 2), LONGEST_BACKOFF_MS);
    const waitMs = Math.max(jitter(backoffMs, JITTER), result.kind === 'later' ? result.waitMs : 0);
    // A stop tries once more, and then every second until its deadline.
    if (!stopping.signal.aborted) await clock.sleep(waitMs, stopping.signal);
    else await clock.sleep(FIRST_BACKOFF_MS, deadline.signal);
  }

  return {
    processor: {
      onStart() {},
      onEnd,
      async forceFlush() {},
      async shutdown() {},
    },
    async stop(graceMs) {
      stopping.abort();
      full.abort();
      const timer = new AbortController();
      void clock.sleep(graceMs, timer.signal).then(() => deadline.abort());
      await pumping;
      timer.abort();
      if (waiting.length === 0) return;
      logger.warn({ spans: waiting.length }, 'spans were dropped: the collector did not take them before the stop');
      drop('dropped', waiting.length);
      waiting = [];
    },
  };
}
