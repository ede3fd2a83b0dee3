import { SpanKind } from '@opentelemetry/api';
import type { Sandbox } from '../../sandbox/index.ts';
import type { Upstream } from '../../upstream/index.ts';
import { markFailed, type Recorder } from './create-recorder.ts';
import { writeTraceparent } from './trace-context.ts';

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
 * Requests as spans, up to the head of the answer. Of the address only the host is recorded: paths
 * and queries hold ids and keys. `tell`: the receiver gets the trace's id.
 */
export function traceUpstream(recorder: Recorder, upstream: Upstream, { tell }: { tell: boolean }): Upstream {
  return {
    async request(request) {
      const parent = recorder.current();
      if (!parent) return upstream.request(request);
      const { method, headers } = request;
      const facts = { 'http.request.method': method, ...hostOf(request.url) };
      const span = recorder.start(method, { kind: SpanKind.CLIENT, facts, parent });
      // A plugin that names a trace of its own knows why.
      const mayTell = tell && !Object.keys(headers).some((name) => name.toLowerCase() === 'traceparent');
      const marked = mayTell ? { ...headers, traceparent: writeTraceparent(span.spanContext()) } : headers;
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

function hostOf(address: string): Record<string, string | number> {
  if (!URL.canParse(address)) return {};
  const { protocol, hostname, port } = new URL(address);
  const usual = protocol === 'https:' ? 443 : 80;
  return {
    'url.scheme': protocol.slice(0, -1),
    'server.address': hostname,
    'server.port': port === '' ? usual : Number(port),
  };
}
