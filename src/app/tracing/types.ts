import type { Registry } from 'prom-client';
import type { RequestTracer } from '../../http/index.ts';
import type { Clock, Logger } from '../../kernel/index.ts';
import type { Sandbox } from '../../sandbox/index.ts';
import type { TaskMeter, TaskTracer } from '../../tasks/index.ts';
import type { Upstream } from '../../upstream/index.ts';
import type { Config } from '../config/config-variables.ts';
import type { CollectorSettings } from './collector-settings.ts';

export type Tracing = {
  requests: RequestTracer;
  tasks: TaskTracer;
  /** Adds the phases of submissions. */
  meter(meter: TaskMeter): TaskMeter;
  /** Records calls of hooks that are part of a recorded trace. */
  sandbox(sandbox: Sandbox): Sandbox;
  /** The same for requests. `toVendors`: they may get the trace's id, if the operator allows it. */
  upstream(upstream: Upstream, to?: { toVendors: boolean }): Upstream;
  /** Sends what waits, for at most `graceMs`. */
  stop(graceMs: number): Promise<void>;
};

export type TracingDeps = { config: Config; nodeId: string; registry: Registry; clock: Clock; logger: Logger };

/** What becomes of a recorded span. `rejected`: by the collector. */
export type SpanFate = 'exported' | 'dropped' | 'rejected';

/** `upstream`: for requests to the collector. */
export type StartTracing = (
  deps: Omit<TracingDeps, 'registry'> & {
    collector: CollectorSettings;
    upstream: Upstream;
    count: (fate: SpanFate, spans: number) => void;
  },
) => Tracing;
