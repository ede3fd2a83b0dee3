import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Attributes,
  type Link,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { AppError } from '../../kernel/index.ts';

type Start = {
  kind: SpanKind;
  facts?: Attributes;
  /** Absent: a trace of its own. */
  parent?: Span | SpanContext | undefined;
  links?: readonly SpanContext[];
};

/** Starts spans, and knows which one runs. Spans that are not recorded never run. */
export type Recorder = {
  /** The running span. */
  current(): Span | undefined;
  start(name: string, start: Start): Span;
  /** Runs `run` within the span, which ends with it. For a failure it records only the code. */
  run<T>(span: Span, run: () => Promise<T>): Promise<T>;
  /** Forgets the running span: it is not exported. */
  discard(): void;
  /** Runs `run` within no span. */
  outside<T>(run: () => T): T;
};

export function createRecorder(tracer: Tracer): Recorder {
  const running = new AsyncLocalStorage<Span | undefined>();
  const discarded = new WeakSet<Span>();
  return {
    current: () => running.getStore(),
    start(name, { kind, facts = {}, parent, links = [] }) {
      const context = parent === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, asSpan(parent));
      const linked: Link[] = links.map((each) => ({ context: each }));
      return tracer.startSpan(name, { kind, attributes: { ...facts }, links: linked }, context);
    },
    run(span, run) {
      return running.run(span.isRecording() ? span : undefined, async () => {
        try {
          return await run();
        } catch (error) {
          markFailed(span, error instanceof AppError ? error.code : 'unexpected');
          throw error;
        } finally {
          if (!discarded.has(span)) span.end();
        }
      });
    },
    discard() {
      const span = running.getStore();
      if (span) discarded.add(span);
    },
    outside: (run) => running.run(undefined, run),
  };
}

const asSpan = (parent: Span | SpanContext): Span => ('traceId' in parent ? trace.wrapSpanContext(parent) : parent);

/** `type`: from a closed set. Messages stay out of traces: they quote vendors and clients. */
export function markFailed(span: Span, type: string): void {
  span.setAttribute('error.type', type);
  span.setStatus({ code: SpanStatusCode.ERROR });
}

const SAMPLED = 1;
/** Versions above 00 may add fields; ff is invalid. */
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
