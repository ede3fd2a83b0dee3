import { SpanKind } from '@opentelemetry/api';
import type { RequestTracer } from '../../http/index.ts';
import { markFailed, type Recorder } from './create-recorder.ts';
import { readTraceparent } from './trace-context.ts';

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
