import { Counter, type Registry } from 'prom-client';
import { trimTrailing } from '../../kernel/index.ts';
import { createUpstream } from '../../upstream/index.ts';
import type { Config } from '../config/config-variables.ts';
import type { SpanFate, Tracing, TracingDeps } from './types.ts';

/** Where traces go; empty for nowhere. */
export function collectorUrl({ otelDisabled, otlpEndpoint, otlpTracesEndpoint }: Config): string {
  if (otelDisabled) return '';
  if (otlpTracesEndpoint !== '' || otlpEndpoint === '') return otlpTracesEndpoint;
  const url = new URL(otlpEndpoint);
  url.pathname = `${trimTrailing(url.pathname, '/')}/v1/traces`;
  return url.href;
}

/** Undefined, with nothing loaded, unless the operator has named a collector. */
export async function openTracing(deps: TracingDeps): Promise<Tracing | undefined> {
  const url = collectorUrl(deps.config);
  if (url === '') return undefined;
  const { startTracing } = await import('./start-tracing.ts');
  const { clock, logger, registry } = deps;
  // The collector is the operator's own choice, so it may be on this machine.
  const upstream = createUpstream({ allowPrivate: true, clock, logger });
  return startTracing({ ...deps, url, upstream, count: countSpans(registry) });
}

function countSpans(registry: Registry): (fate: SpanFate, spans: number) => void {
  const counter = new Counter({
    name: 'taskgate_trace_spans_total',
    help: 'Spans of this node: exported, dropped by the gateway, or rejected by the collector.',
    labelNames: ['result'],
    registers: [registry],
  });
  for (const result of ['exported', 'dropped', 'rejected']) counter.inc({ result }, 0);
  return (result, spans) => counter.inc({ result }, spans);
}
