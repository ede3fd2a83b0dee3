import { Counter, Gauge, type Registry } from 'prom-client';
import type { Webhooks } from '../../notifications/index.ts';
import { readFromStore } from '../../telemetry/metrics/read-from-store.ts';

/** Measures how many webhooks wait on all nodes, and what became of those that this node sent. */
export function measureWebhooks(registry: Registry, webhooks: Pick<Webhooks, 'depth' | 'stats'>): void {
  const webhookDepth = readFromStore(() => webhooks.depth());
  new Gauge({
    name: 'taskgate_webhooks_pending',
    help: 'Webhooks that have not been delivered yet, on all nodes.',
    registers: [registry],
    async collect() {
      this.set((await webhookDepth())?.pending ?? Number.NaN);
    },
  });
  new Gauge({
    name: 'taskgate_webhooks_oldest_seconds',
    help: 'Age of the oldest webhook that has not been delivered yet.',
    registers: [registry],
    async collect() {
      this.set((await webhookDepth())?.oldestSeconds ?? Number.NaN);
    },
  });
  new Gauge({
    name: 'taskgate_webhook_attempts',
    help: 'Deliveries of webhooks that this node has tried since its start, by outcome, and those running.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      for (const [state, count] of Object.entries(webhooks.stats())) this.set({ state }, count);
    },
  });
  new Counter({
    name: 'taskgate_webhook_deliveries_total',
    help: 'Attempts of this node to deliver webhooks, by result: delivered, retried or failed for good.',
    labelNames: ['result'],
    registers: [registry],
    collect() {
      const { delivered, retried, failed } = webhooks.stats();
      this.reset();
      for (const [result, count] of Object.entries({ delivered, retried, failed })) this.inc({ result }, count);
    },
  });
}
