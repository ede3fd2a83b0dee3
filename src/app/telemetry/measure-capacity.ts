import { Counter, Gauge, type Registry } from 'prom-client';
import { type CapacityService, type Channels, mapModel } from '../../channels/index.ts';
import { STATUS } from '../../store/ports/index.ts';
import type { Tasks } from '../../tasks/index.ts';
import { boundedLabel } from '../../telemetry/metrics/bounded-label.ts';
import { readFromStore } from '../../telemetry/metrics/read-from-store.ts';

type Services = {
  capacity: Pick<CapacityService, 'describe' | 'rests' | 'begunRests'>;
  channels: Pick<Channels, 'known' | 'everyAccount'>;
  tasks: Pick<Tasks, 'queue' | 'stats'>;
};

/** Adds what accounts run, may run and keep waiting to `/metrics`. An empty model means all. */
export function measureCapacity(registry: Registry, { capacity, channels, tasks }: Services): void {
  const modelLabel = boundedLabel();
  const labelNames = ['channel', 'model'] as const;
  const describeEach = () =>
    channels.known().flatMap((channel) => {
      const { models, ...all } = capacity.describe(channel);
      return [{ model: '', ...all }, ...models].map(({ model, ...each }) => ({
        ...each,
        labels: { channel: `${channel.id}`, model: modelLabel(model) },
      }));
    });
  new Gauge({
    name: 'taskgate_capacity_running',
    help: 'Slots of accounts in use on all nodes, abandoned ones included, by channel and model of the vendor; an empty model: all together.',
    labelNames,
    registers: [registry],
    collect() {
      this.reset();
      for (const { labels, running, abandoned } of describeEach()) this.inc(labels, running + abandoned);
    },
  });
  new Gauge({
    name: 'taskgate_capacity_limit',
    help: 'Slots that accounts have, declared or learned, by channel and model of the vendor; absent while it is not known.',
    labelNames,
    registers: [registry],
    collect() {
      this.reset();
      for (const { labels, limit } of describeEach()) if (limit !== null) this.set(labels, limit);
    },
  });
  new Counter({
    name: 'taskgate_rests_total',
    help: 'Pauses that this node has begun, in which nothing new is sent to an account, by reason: capacity, rate, balance, credential, vendor_busy, outage.',
    labelNames: ['reason'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [reason, rests] of capacity.begunRests()) this.inc({ reason }, rests);
    },
  });
  new Gauge({
    name: 'taskgate_model_resting',
    help: '1 for a model of the client whose every account rests, so that its tasks wait; absent otherwise.',
    labelNames: ['model'],
    registers: [registry],
    collect() {
      this.reset();
      const serving = new Set<string>();
      const resting = new Set<string>();
      for (const channel of channels.known()) {
        if (channel.status !== STATUS.enabled) continue;
        for (const model of channel.models)
          (capacity.rests(channel, mapModel(channel.modelMapping, model)) ? resting : serving).add(model);
      }
      for (const model of resting) if (!serving.has(model)) this.set({ model: modelLabel(model) }, 1);
    },
  });
  new Gauge({
    name: 'taskgate_upstream_balance_usd',
    help: 'What is left at vendors by the scripts of channels, in US dollars, by channel and the id of its key; absent where it was never read.',
    labelNames: ['channel', 'credential'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { channel, credential } of channels.everyAccount()) {
        const { balanceMicros: left, removedAt, status } = credential;
        if (left === null || removedAt > 0 || status !== STATUS.enabled) continue;
        this.set({ channel: `${channel.id}`, credential: `${credential.id}` }, left / 1_000_000);
      }
    },
  });
  new Gauge({
    name: 'taskgate_upstream_balance_low',
    help: '1 for a channel whose balance at the vendor is below its balance_alert_usd; absent otherwise.',
    labelNames: ['channel'],
    registers: [registry],
    collect() {
      this.reset();
      for (const { channel, credential } of channels.everyAccount()) {
        const { balanceMicros: left, removedAt, status } = credential;
        const { balance_alert_usd: alert } = channel.settings;
        if (left === null || removedAt > 0 || status !== STATUS.enabled || typeof alert !== 'number') continue;
        if (left / 1_000_000 < alert) this.set({ channel: `${channel.id}` }, 1);
      }
    },
  });
  new Gauge({
    name: 'taskgate_capacity_stalled_seconds',
    help: 'For how long tasks have waited beside free slots without one being sent by this node; 0: all is well.',
    registers: [registry],
    collect() {
      this.set(tasks.stats().stalledMs / 1000);
    },
  });
  const readClasses = readFromStore(() => tasks.queue.classes());
  new Gauge({
    name: 'taskgate_capacity_waiting',
    help: 'Tasks that wait for a slot on all nodes, by channel and model of the client; a task counts for each channel that may serve it, and for channel 0 where none may.',
    labelNames,
    registers: [registry],
    async collect() {
      const classes = await readClasses();
      if (!classes) return;
      this.reset();
      for (const { model, waiting, channels: serving } of classes) {
        const ids = serving.length === 0 ? [0] : serving.map(({ id }) => id);
        for (const id of ids) this.inc({ channel: `${id}`, model: modelLabel(model) }, waiting);
      }
    },
  });
}
