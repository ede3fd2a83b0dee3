import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { TaskMeter, Tasks } from '../../tasks/index.ts';
import { boundedLabel } from '../../telemetry/metrics/bounded-label.ts';
import { createDeferredHistogram } from '../../telemetry/metrics/deferred-histogram.ts';
import { readFromStore } from '../../telemetry/metrics/read-from-store.ts';

const VENDOR_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];
/** Seconds; the longest wait is twelve hours. */
const WAIT_BUCKETS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14_400, 43_200];
const PHASE_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Statuses with a series of their own; a vendor could send a thousand. */
const STATUSES = new Set([
  ...[200, 201, 202, 204, 400, 401, 402, 403, 404, 409, 410, 413, 422, 429],
  ...[500, 502, 503, 504, 529],
]);

/** What submissions and polls of this node do, in counters and histograms. */
export function measureTasks(registry: Registry): TaskMeter {
  const registers = [registry];
  const channelLabel = boundedLabel();
  const pluginLabel = boundedLabel();
  const ended = new Counter({
    name: 'taskgate_tasks_ended_total',
    help: 'Tasks that this node has ended, by plugin, channel and outcome: success or failure.',
    labelNames: ['plugin', 'channel', 'outcome'],
    registers,
  });
  const spend = new Counter({
    name: 'taskgate_spend_quota_total',
    help: 'What this node has billed for tasks and relayed requests, in units of quota, by channel.',
    labelNames: ['channel'],
    registers,
  });
  const implausible = new Counter({
    name: 'taskgate_implausible_usage_total',
    help: 'Answers of vendors that reported more usage than the request allowed, and were billed as reserved, by channel.',
    labelNames: ['channel'],
    registers,
  });
  const answers = new Counter({
    name: 'taskgate_vendor_responses_total',
    help: 'Requests to vendors of this node, by channel, call (submit or poll) and status, or how the request failed.',
    labelNames: ['channel', 'call', 'status'],
    registers,
  });
  const latency = createDeferredHistogram({
    name: 'taskgate_vendor_request_duration_seconds',
    help: "Time to the head of a vendor's answer, or to the failure, by channel and call.",
    labelNames: ['channel', 'call'],
    buckets: VENDOR_BUCKETS,
    registers,
  });
  const phases = createDeferredHistogram({
    name: 'taskgate_submission_phase_duration_seconds',
    help: 'Duration of the phases of submissions: wait, prepare, reserve, send (vendor and parsing), record.',
    labelNames: ['phase'],
    buckets: PHASE_BUCKETS,
    registers,
  });
  const waits = createDeferredHistogram({
    name: 'taskgate_wait_seconds',
    help: 'How long tasks waited for a slot at their vendor until this node sent them, by channel; those that found one at once are not counted.',
    labelNames: ['channel'],
    buckets: WAIT_BUCKETS,
    registers,
  });
  return {
    ended({ plugin, channelId, succeeded }) {
      const channel = channelLabel(`${channelId}`);
      ended.inc({ plugin: pluginLabel(plugin), channel, outcome: succeeded ? 'success' : 'failure' });
    },
    spent(channelId, quota) {
      if (quota > 0) spend.inc({ channel: channelLabel(`${channelId}`) }, quota);
    },
    implausibleUsage: (channelId) => implausible.inc({ channel: channelLabel(`${channelId}`) }),
    answered({ channelId, call, status, ms }) {
      const channel = channelLabel(`${channelId}`);
      answers.inc({ channel, call, status: typeof status === 'string' ? status : statusLabel(status) });
      latency.observe({ channel, call }, ms / 1000);
    },
    waited: (channelId, ms) => waits.observe({ channel: channelLabel(`${channelId}`) }, ms / 1000),
    phase: (phase, ms) => phases.observe({ phase }, ms / 1000),
  };
}

const statusLabel = (status: number): string => (STATUSES.has(status) ? `${status}` : `${Math.floor(status / 100)}xx`);

/** Seconds; fine-grained around the aim: 99 of 100 polls within a second of their due time. */
const LATENESS_BUCKETS = [0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 2, 3, 5, 10, 30, 60];

/** Measures how late polls are sent; returns the function that records each lateness in ms. */
export function measurePolls(registry: Registry): (latenessMs: number) => void {
  const lateness = new Histogram({
    name: 'taskgate_poll_delay_seconds',
    help: 'How far behind its due time each poll of this node was sent.',
    buckets: LATENESS_BUCKETS,
    registers: [registry],
  });
  return (latenessMs) => lateness.observe(latenessMs / 1000);
}

/** Measures how many tasks are open and due on all nodes, and what this node polls. */
export function measureOpenTasks(registry: Registry, tasks: Pick<Tasks, 'queueDepth' | 'stats'>): void {
  const queueDepth = readFromStore(() => tasks.queueDepth());
  new Gauge({
    name: 'taskgate_tasks_unfinished',
    help: 'Tasks that have not ended, on all nodes: all of them, and those that are due to be polled.',
    labelNames: ['state'],
    registers: [registry],
    async collect() {
      const depth = await queueDepth();
      if (!depth) return;
      this.set({ state: 'all' }, depth.unfinished);
      this.set({ state: 'due' }, depth.due);
    },
  });
  new Gauge({
    name: 'taskgate_poll_lateness_seconds',
    help: 'How far behind its due time the latest poll is.',
    registers: [registry],
    async collect() {
      this.set(((await queueDepth())?.latestLatenessMs ?? Number.NaN) / 1000);
    },
  });
  new Gauge({
    name: 'taskgate_polls',
    help: 'Polls of this node: made since its start, running, claimed and waiting.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      const { polls, running, waiting } = tasks.stats();
      this.set({ state: 'made' }, polls);
      this.set({ state: 'running' }, running);
      this.set({ state: 'waiting' }, waiting);
    },
  });
  new Counter({
    name: 'taskgate_polls_total',
    help: 'Polls that this node has made.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(tasks.stats().polls);
    },
  });
}
