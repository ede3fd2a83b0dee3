import { readFileSync } from 'node:fs';
import { Counter, type Registry } from 'prom-client';
import { createUpstream } from '../../upstream/index.ts';
import { collectorSettings } from './collector-settings.ts';
import type { SpanFate, Tracing, TracingDeps } from './types.ts';

/** Undefined, with nothing loaded, unless the operator has named a collector. */
export async function openTracing(deps: TracingDeps): Promise<Tracing | undefined> {
  const collector = collectorSettings(deps.config);
  if (collector === undefined) return undefined;
  const { startTracing } = await import('./start-tracing.ts');
  const { clock, logger, registry } = deps;
  // The collector is the operator's own choice, so it may be on this machine.
  const upstream = createUpstream({
    ...{ allowPrivate: true, clock, logger },
    ...(collector.certificate === '' ? {} : { trustedCertificates: [readFileSync(collector.certificate, 'utf8')] }),
  });
  return startTracing({ ...deps, collector, upstream, count: countSpans(registry) });
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
