import { type SpanContext, SpanKind } from '@opentelemetry/api';
import type { RequestTracer } from '../../http/index.ts';
import type { Sandbox } from '../../sandbox/index.ts';
import type { TaskMeter, TaskTracer } from '../../tasks/index.ts';
import {
  isSampled,
  markFailed,
  type Recorder,
  readTraceparent,
  writeTraceparent,
} from '../../telemetry/tracing/create-recorder.ts';
import type { Upstream } from '../../upstream/index.ts';

/** Requests without a story: files of the panel, unknown paths, and what monitors ask for. */
const UNRECORDED: ReadonlySet<string> = new Set(['none', '/livez', '/readyz', '/metrics']);
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Clients' requests as spans, which continue the trace of a caller that says so. */
export function traceRequests(recorder: Recorder): RequestTracer {
  return {
    async run(request, handle) {
      const caller = readTraceparent(request.headers.get('traceparent'));
      const span = recorder.start('request', { kind: SpanKind.SERVER, parent: caller });
      if (!span.isRecording()) return handle();
      return recorder.run(span, handle);
    },
    answered({ method, route, status, requestId }) {
      const span = recorder.current();
      if (!span) return;
      if (UNRECORDED.has(route)) return recorder.discard();
      const known = METHODS.has(method) ? method : '_OTHER';
      span.updateName(`${known === '_OTHER' ? 'HTTP' : known} ${route}`);
      span.setAttributes({
        'http.request.method': known,
        'http.route': route,
        'http.response.status_code': status,
        'taskgate.request_id': requestId,
      });
      if (status >= 500) markFailed(span, `${status}`);
    },
  };
}

/** Submissions inside of their request; polls and webhooks as traces that link to it. */
export function traceTasks(recorder: Recorder): TaskTracer {
  return {
    submission(facts, run) {
      const parent = recorder.current();
      if (!parent) return run();
      const span = recorder.start('submission', { kind: SpanKind.INTERNAL, facts, parent });
      return recorder.run(span, run);
    },
    later({ name, facts, contexts }, run) {
      const links = contexts
        .map(readTraceparent)
        .filter((each): each is SpanContext => each !== undefined && isSampled(each));
      // Work that a recorded request happens to begin must not become a part of it.
      if (links.length === 0) return recorder.outside(run);
      return recorder.run(recorder.start(name, { kind: SpanKind.INTERNAL, facts, links }), run);
    },
    note(facts) {
      recorder.current()?.setAttributes({ ...facts });
    },
    context() {
      const span = recorder.current();
      return span && writeTraceparent(span.spanContext());
    },
  };
}

/** The phases of a submission as events of its span. */
export function traceMeter(recorder: Recorder, meter: TaskMeter): TaskMeter {
  return {
    ...meter,
    phase(phase, ms) {
      meter.phase(phase, ms);
      recorder.current()?.addEvent(phase, { 'taskgate.duration_ms': Math.round(ms * 1000) / 1000 });
    },
  };
}

/** The sandbox with its calls as spans, the wait for a free process included. */
export function traceSandbox(recorder: Recorder, sandbox: Sandbox): Sandbox {
  return {
    ...sandbox,
    async call(module, call) {
      const parent = recorder.current();
      if (!parent) return sandbox.call(module, call);
      const hook = call.path.join('.');
      const facts = { 'taskgate.hook': hook, 'taskgate.plugin': module.key, 'taskgate.plugin_version': module.version };
      const span = recorder.start(`hook ${hook}`, { kind: SpanKind.INTERNAL, facts, parent });
      const outcome = await sandbox.call(module, call);
      if (!outcome.ok) markFailed(span, outcome.error.kind);
      span.end();
      return outcome;
    },
  };
}

/**
 * Requests as spans, up to the head of the answer. Only the host of the address is recorded: paths
 * and queries hold ids and keys. `tell`: the receiver gets the trace's id.
 */
export function traceUpstream(recorder: Recorder, upstream: Upstream, { tell }: { tell: boolean }): Upstream {
  return {
    async request(request) {
      const parent = recorder.current();
      if (!parent) return upstream.request(request);
      const { method, headers } = request;
      const facts = { 'http.request.method': method, ...readHost(request.url) };
      const span = recorder.start(method, { kind: SpanKind.CLIENT, facts, parent });
      // A plugin that names a trace of its own knows why.
      const isTraced = tell && !Object.keys(headers).some((name) => name.toLowerCase() === 'traceparent');
      const marked = isTraced ? { ...headers, traceparent: writeTraceparent(span.spanContext()) } : headers;
      const answered = await upstream.request({ ...request, headers: marked });
      if (answered.ok) {
        const { status } = answered.value;
        span.setAttribute('http.response.status_code', status);
        if (status >= 400) markFailed(span, `${status}`);
      } else markFailed(span, answered.error.kind);
      span.end();
      return answered;
    },
    close: () => upstream.close(),
  };
}

function readHost(address: string): Record<string, string | number> {
  if (!URL.canParse(address)) return {};
  const { protocol, hostname, port } = new URL(address);
  const usual = protocol === 'https:' ? 443 : 80;
  return {
    'url.scheme': protocol.slice(0, -1),
    'server.address': hostname,
    'server.port': port === '' ? usual : Number(port),
  };
}
