import { readFileSync } from 'node:fs';
import { Counter, type Registry } from 'prom-client';
import type { RequestTracer } from '../../http/index.ts';
import type { Clock, Logger } from '../../kernel/index.ts';
import type { Sandbox } from '../../sandbox/index.ts';
import type { TaskMeter, TaskTracer } from '../../tasks/index.ts';
import type { SpanFate } from '../../telemetry/index.ts';
import { configuredNetwork, createUpstream, type Upstream } from '../../upstream/index.ts';
import { collectorSettings } from '../config/collector-settings.ts';
import type { Config } from '../config/config-variables.ts';
import { VERSION } from '../version.ts';

export type Tracing = {
  requests: RequestTracer;
  tasks: TaskTracer;
  /** Adds the phases of submissions. */
  meter(meter: TaskMeter): TaskMeter;
  /** Records calls of hooks that are part of a recorded trace. */
  sandbox(sandbox: Sandbox): Sandbox;
  /**
   * Records requests that are part of a recorded trace. `toVendors`: they may get the trace's id,
   * if the operator allows it.
   */
  upstream(upstream: Upstream, to?: { toVendors: boolean }): Upstream;
  /** Sends what waits, for at most `graceMs`. */
  stop(graceMs: number): Promise<void>;
};

type Deps = { config: Config; nodeId: string; registry: Registry; clock: Clock; logger: Logger };

/** Undefined, with nothing loaded, unless the operator has named a collector. */
export async function openTracing({ config, nodeId, registry, clock, logger }: Deps): Promise<Tracing | undefined> {
  const collector = collectorSettings(config);
  if (collector === undefined) return undefined;
  const [{ startTracing }, trace] = await Promise.all([
    import('../../telemetry/tracing/start-tracing.ts'),
    import('./trace-services.ts'),
  ]);
  const { otelServiceName, otelResource } = config;
  const { recorder, stop } = startTracing({
    collector,
    sampler: { name: config.otelSampler, share: config.otelSamplerShare, trustsCallers: config.tracesTrustCallers },
    resource: {
      'service.instance.id': nodeId,
      ...otelResource,
      ...(otelServiceName === '' ? {} : { 'service.name': otelServiceName }),
    },
    version: VERSION,
    // The collector is the operator's own choice, so it may be on this machine.
    upstream: createUpstream({
      ...{ allowPrivate: true, clock, logger, network: configuredNetwork(config) },
      ...(collector.certificate === '' ? {} : { trustedCertificates: [readFileSync(collector.certificate, 'utf8')] }),
    }),
    count: countSpans(registry),
    clock,
    logger,
  });
  return {
    requests: trace.traceRequests(recorder),
    tasks: trace.traceTasks(recorder),
    meter: (meter) => trace.traceMeter(recorder, meter),
    sandbox: (sandbox) => trace.traceSandbox(recorder, sandbox),
    upstream: (inner, to) =>
      trace.traceUpstream(recorder, inner, { tell: to?.toVendors === true && config.tracesToVendors }),
    stop,
  };
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
