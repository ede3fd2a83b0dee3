/** Spans on their way to a collector that is slow, refuses, asks to wait or is not there. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { TracerProvider } from '@opentelemetry/sdk-trace';
import { type Logger, silentLogger, systemClock } from '../../../src/kernel/index.ts';
import { createSender, type SendResult } from '../../../src/telemetry/tracing/send-spans.ts';
import { batchSpans } from '../../../src/telemetry/tracing/start-tracing.ts';
import { createUpstream } from '../../../src/upstream/index.ts';
import { freePort } from '../../support/free-port.ts';
import { startCollector, type TraceCollector } from '../../support/trace-collector.ts';
import { until } from '../../support/until.ts';

/** Sleeps end when a test says so. */
function createSteps() {
  const sleeps: { ms: number; end: () => void }[] = [];
  return {
    clock: {
      ...systemClock,
      sleep: (ms: number, signal?: AbortSignal) =>
        new Promise<void>((resolve) => {
          if (signal?.aborted) return resolve();
          const sleep = { ms, end: resolve };
          sleeps.push(sleep);
          signal?.addEventListener('abort', () => {
            if (sleeps.includes(sleep)) sleeps.splice(sleeps.indexOf(sleep), 1);
            resolve();
          });
        }),
    },
    /** Ends the sleep that comes next; gives its length. */
    async step(): Promise<number> {
      const sleep = await until('it sleeps', () => sleeps.shift());
      sleep.end();
      return sleep.ms;
    },
  };
}

function startBatches(answers: (SendResult | 'never')[]) {
  const { clock, step } = createSteps();
  const lines: string[] = [];
  const counted: Record<string, number> = {};
  const sent: number[] = [];
  const note = (_: object, message: string) => void lines.push(message);
  const logger: Logger = { ...silentLogger, info: note, warn: note };
  const batches = batchSpans({
    async send(spans, signal) {
      sent.push(spans.length);
      const answer = answers.shift() ?? { kind: 'sent', rejected: 0 };
      if (answer !== 'never') return answer;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return { kind: 'later', reason: 'aborted', waitMs: 0 };
    },
    count: (fate, spans) => {
      counted[fate] = (counted[fate] ?? 0) + spans;
    },
    clock,
    logger,
  });
  const tracer = new TracerProvider({ spanProcessors: [batches.processor] }).getTracer('test');
  const end = (spans: number) => {
    for (let i = 0; i < spans; i += 1) tracer.startSpan('x').end();
  };
  return { batches, end, step, lines, counted, sent };
}

const BATCH = 512;

describe('batches', () => {
  test('go out when they are full, and are kept for as long as the collector asks', async () => {
    const busy: SendResult = { kind: 'later', reason: 'status 429', waitMs: 30_000 };
    const { batches, end, step, sent, counted, lines } = startBatches([busy, busy]);
    end(BATCH + 3);
    expect(await step()).toBe(30_000);
    expect(await step()).toBe(30_000);
    await until('they were sent', () => counted.exported === BATCH);
    expect(sent).toEqual([BATCH, BATCH, BATCH]);
    expect(lines).toEqual([
      'traces could not be exported; trying again, at least once a minute',
      'traces are exported again',
    ]);
    await batches.stop(1000);
    expect(counted).toEqual({ exported: BATCH + 3 });
  });

  test('wait longer after each failure, and a minute at most', async () => {
    const down: SendResult = { kind: 'later', reason: 'connect', waitMs: 0 };
    const { end, step } = startBatches(Array.from({ length: 9 }, () => down));
    end(BATCH);
    const pauses: number[] = [];
    for (let i = 0; i < 8; i += 1) pauses.push(await step());
    expect(pauses[0]).toBeGreaterThanOrEqual(800);
    expect(pauses[0]).toBeLessThanOrEqual(1200);
    expect(pauses.at(-1)).toBeGreaterThan(40_000);
    expect(pauses.at(-1)).toBeLessThanOrEqual(72_000);
  });

  test('drop and count what does not fit, and what the collector refuses or rejects', async () => {
    const { batches, end, step, counted, sent } = startBatches([
      { kind: 'refused', reason: 'status 400' },
      { kind: 'sent', rejected: 12 },
    ]);
    // The first batch is on its way, 2,048 wait.
    end(BATCH + 2048 + 100);
    expect(counted).toEqual({ dropped: 100 });
    await until('the first batch was refused', () => counted.dropped === 612);
    await step();
    await batches.stop(1000);
    expect(counted).toEqual({ dropped: 612, exported: 2048 - 12, rejected: 12 });
    expect(sent).toEqual(Array.from({ length: 5 }, () => BATCH));
  });

  test('are sent at a stop, and no longer than it may take, the one that is on its way too', async () => {
    const quick = startBatches([]);
    quick.end(7);
    await quick.batches.stop(1000);
    expect(quick.counted).toEqual({ exported: 7 });

    const hung = startBatches(['never', 'never']);
    hung.end(BATCH + 7);
    const stopped = hung.batches.stop(1234);
    expect(await hung.step()).toBe(1234);
    await stopped;
    expect(hung.counted).toEqual({ dropped: BATCH + 7 });
    expect(hung.lines.at(-1)).toBe('spans were dropped: the collector did not take them before the stop');
  });
});

describe('the sender', () => {
  let collector: TraceCollector;
  const upstream = createUpstream({ allowPrivate: true, clock: systemClock, logger: silentLogger });
  const spans = () => {
    const { processor, ended } = collecting();
    new TracerProvider({ spanProcessors: [processor] }).getTracer('test').startSpan('x').end();
    return ended;
  };
  const send = (url = collector.url, signal = new AbortController().signal) =>
    createSender({ url, headers: {}, timeoutMs: 10_000, gzip: false, upstream, clock: systemClock })(spans(), signal);

  beforeAll(async () => {
    collector = await startCollector();
  });
  beforeEach(() => collector.answer((response) => void response.writeHead(200).end('{}')));
  afterAll(async () => {
    await collector.stop();
    await upstream.close();
  });

  test.each<[number, Record<string, string>, SendResult]>([
    [429, { 'retry-after': '7' }, { kind: 'later', reason: 'status 429', waitMs: 7000 }],
    [503, { 'retry-after': '999999' }, { kind: 'later', reason: 'status 503', waitMs: 300_000 }],
    [502, {}, { kind: 'later', reason: 'status 502', waitMs: 0 }],
    [400, {}, { kind: 'refused', reason: 'status 400' }],
    [401, {}, { kind: 'refused', reason: 'status 401' }],
    [302, { location: 'http://127.0.0.1:1/elsewhere' }, { kind: 'refused', reason: 'status 302' }],
  ])('after %p %p', async (status, headers, expected) => {
    collector.answer((response) => void response.writeHead(status, headers).end('what the collector wrote'));
    expect(await send()).toEqual(expected);
  });

  test('counts what the collector left out', async () => {
    collector.answer((response) => void response.writeHead(200).end('{"partialSuccess":{"rejectedSpans":"1"}}'));
    expect(await send()).toEqual({ kind: 'sent', rejected: 1 });
  });

  test.each(['not json', '[]', 'x'.repeat(1024 * 1024)])(
    'takes any answer of a stranger for no answer',
    async (answer) => {
      collector.answer((response) => void response.writeHead(200).end(answer));
      expect(await send()).toEqual({ kind: 'sent', rejected: 0 });
    },
  );

  test('ends a request to a slow collector when it is told to', async () => {
    const stop = new AbortController();
    collector.answer(() => stop.abort());
    expect(await send(collector.url, stop.signal)).toEqual({ kind: 'later', reason: 'aborted', waitMs: 0 });
  });

  test('tries again later where nobody listens', async () => {
    expect(await send(`http://127.0.0.1:${await freePort()}`)).toMatchObject({ kind: 'later', reason: 'connect' });
  });

  test('never asks the address of cloud metadata', async () => {
    expect(await send('http://169.254.169.254/v1/traces')).toMatchObject({ kind: 'refused' });
  });
});

type Processor = ConstructorParameters<typeof TracerProvider>[0] extends infer Options | undefined
  ? Options extends { spanProcessors?: (infer P)[] }
    ? P
    : never
  : never;

function collecting() {
  const ended: Parameters<Processor['onEnd']>[0][] = [];
  const processor: Processor = {
    onStart() {},
    onEnd: (span) => void ended.push(span),
    async forceFlush() {},
    async shutdown() {},
  };
  return { processor, ended };
}
