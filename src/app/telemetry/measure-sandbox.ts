import { Gauge, type Registry } from 'prom-client';
import type { Sandbox } from '../../sandbox/index.ts';

/** The processes that run plugins, and calls that were stopped. How long: `measure-hooks.ts`. */
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
