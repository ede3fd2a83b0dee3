import { createNoopMeter, type MeterProvider } from '@opentelemetry/api';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { type Clock, jitter, type Logger } from '../../kernel/index.ts';
import { chooseSampler } from './choose-sampler.ts';
import { createRecorder } from './create-recorder.ts';
import { createSender, type SendResult, type SendSpans } from './send-spans.ts';
import type { RunningTracing, SpanFate, TracingDeps } from './types.ts';

const SERVICE = 'taskgate';
/** Longer values are cut: some of them are written by clients. */
const MAX_VALUE_CHARACTERS = 256;

/** Begins to record and to send. This file and what it imports is loaded only then. */
export function startTracing(deps: TracingDeps): RunningTracing {
  const { collector, sampler, resource, version, upstream, count, clock, logger } = deps;
  const batches = batchSpans({ send: createSender({ ...collector, upstream, clock }), count, clock, logger });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': SERVICE, 'service.version': version, ...resource }),
    sampler: chooseSampler(sampler),
    spanLimits: { attributeValueLengthLimit: MAX_VALUE_CHARACTERS, attributeCountLimit: 64, linkCountLimit: 128 },
    spanProcessors: [batches.processor],
  });
  logger.info({ host: new URL(collector.url).host, sampler: sampler.name }, 'traces are exported');
  return {
    recorder: createRecorder(provider.getTracer(SERVICE, version)),
    async stop(graceMs) {
      await batches.stop(graceMs);
      await upstream.close();
    },
  };
}

const FIRST_BACKOFF_MS = 1000;
const LONGEST_BACKOFF_MS = 60_000;
const JITTER = 0.2;
/** The longest timer. The exporter ends each batch itself, and only one may be on its way. */
const EXPORT_TIMEOUT_MS = 2 ** 31 - 1;

type SpanBatches = {
  processor: SpanProcessor;
  /** Sends what waits, for at most `graceMs`; the rest is dropped. */
  stop(graceMs: number): Promise<void>;
};

type BatchDeps = {
  send: SendSpans;
  /** Called with the fate of spans. */
  count: (fate: SpanFate, spans: number) => void;
  clock: Clock;
  logger: Logger;
};

/**
 * The SDK's queue of ended spans, with the sizes and the interval that OpenTelemetry recommends. A
 * batch is sent until the collector takes it. While it takes none, the queue fills and further
 * spans are dropped. An outage is two log lines.
 */
export function batchSpans({ send, count, clock, logger }: BatchDeps): SpanBatches {
  let backoffMs = 0;
  let lost = 0;
  let untaken = 0;
  const deliveries = new Set<Promise<void>>();
  const stopping = new AbortController();
  const deadline = new AbortController();

  function drop(fate: 'dropped' | 'rejected', spans: number): void {
    lost += spans;
    if (spans > 0) count(fate, spans);
  }

  async function deliver(spans: readonly ReadableSpan[]): Promise<void> {
    while (!deadline.signal.aborted) {
      const result = await send(spans, deadline.signal).catch(
        (error: unknown): SendResult => ({ kind: 'refused', reason: error instanceof Error ? error.name : 'unknown' }),
      );
      await settle(result, spans.length);
      if (result.kind !== 'later') return;
    }
    untaken += spans.length;
    drop('dropped', spans.length);
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
    else if (result.kind === 'later') await clock.sleep(FIRST_BACKOFF_MS, deadline.signal);
  }

  const exporter: SpanExporter = {
    export(spans, done) {
      const delivery = deliver(spans).finally(() => {
        deliveries.delete(delivery);
        done({ code: 0 });
      });
      deliveries.add(delivery);
    },
    // The processor's own stop does not wait for the batch that was on its way before.
    async shutdown() {
      await Promise.all(deliveries);
    },
  };
  const processor = new BatchSpanProcessor({
    exporter,
    exportTimeoutMillis: EXPORT_TIMEOUT_MS,
    selfObsMeterProvider: reportFullQueue((spans) => drop('dropped', spans)),
  });
  return {
    processor,
    async stop(graceMs) {
      stopping.abort();
      const timer = new AbortController();
      void clock.sleep(graceMs, timer.signal).then(() => deadline.abort());
      await processor.shutdown();
      timer.abort();
      if (untaken === 0) return;
      logger.warn({ spans: untaken }, 'spans were dropped: the collector did not take them before the stop');
    },
  };
}

/** The processor counts spans that found its queue full, and tells of them as a metric alone. */
function reportFullQueue(dropped: (spans: number) => void): MeterProvider {
  const add = (spans: number, attributes?: Readonly<Record<string, unknown>>): void => {
    if (attributes?.['error.type'] === 'queue_full') dropped(spans);
  };
  const meter = Object.assign(Object.create(createNoopMeter()), { createCounter: () => ({ add }) });
  return { getMeter: () => meter };
}
