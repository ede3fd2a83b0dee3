import { Gauge, type Registry } from 'prom-client';
import type { Clock } from '../../kernel/index.ts';
import type { Sandbox } from '../../sandbox/index.ts';
import { boundedLabel } from '../../telemetry/metrics/bounded-label.ts';
import { createDeferredHistogram } from '../../telemetry/metrics/deferred-histogram.ts';

const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
/** Plugins name some of their functions themselves. */
const MAX_HOOKS = 64;

/** The processes that run plugins, and calls that were stopped. */
export function measureSandbox(registry: Registry, sandbox: Pick<Sandbox, 'stats'>): void {
  new Gauge({
    name: 'taskgate_sandbox',
    help: 'Plugin sandbox of this node: processes, calls and kills since the start, calls that wait, suspended plugins, bytes resident.',
    labelNames: ['figure'],
    registers: [registry],
    collect() {
      const { processes, calls, kills, queued, suspended, residentBytes } = sandbox.stats();
      const figures = { processes, calls, kills, queued, suspended: suspended.length, resident_bytes: residentBytes };
      for (const [figure, value] of Object.entries(figures)) this.set({ figure }, value);
    },
  });
  new Gauge({
    name: 'taskgate_sandbox_kills',
    help: 'Hook calls of this node that had to be stopped for their time or memory since its start, by plugin and by the owner of the call: user, or system for polls.',
    labelNames: ['plugin', 'owner'],
    registers: [registry],
    collect() {
      for (const { plugin, owner, kills } of sandbox.stats().killCounts) this.set({ plugin, owner }, kills);
    },
  });
}

/** The sandbox with its calls timed, the wait for a free process included. */
export function measureHooks(registry: Registry, sandbox: Sandbox, clock: Clock): Sandbox {
  const durations = createDeferredHistogram({
    name: 'taskgate_hook_duration_seconds',
    help: "Duration of calls of plugins' hooks on this node, with the wait for a process, by hook and outcome.",
    labelNames: ['hook', 'outcome'],
    buckets: BUCKETS,
    registers: [registry],
  });
  const hookLabel = boundedLabel(MAX_HOOKS);
  // A loaded plugin passes the same array for a hook each time.
  const labels = new WeakMap<readonly string[], string>();
  return {
    ...sandbox,
    async call(module, call) {
      const startedMs = clock.monotonicMs();
      const outcome = await sandbox.call(module, call);
      let hook = labels.get(call.path);
      if (hook === undefined) {
        hook = hookLabel(call.path.join('.'));
        labels.set(call.path, hook);
      }
      const seconds = (clock.monotonicMs() - startedMs) / 1000;
      durations.observe({ hook, outcome: outcome.ok ? 'ok' : outcome.error.kind }, seconds);
      return outcome;
    },
  };
}
