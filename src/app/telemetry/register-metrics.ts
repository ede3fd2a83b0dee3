import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Clock, ReportCacheSize } from '../../kernel/index.ts';
import type { Webhooks } from '../../notifications/index.ts';
import type { Backups } from '../../operations/backup/backup-schedule.ts';
import type { DataCheck, DataCheckResult } from '../../operations/doctor/weekly-check.ts';
import type { ClockCheck } from '../../operations/watches/watch-clock.ts';
import type { DiskWatch } from '../../operations/watches/watch-disks.ts';
import type { Results } from '../../results/index.ts';
import type { Sandbox } from '../../sandbox/index.ts';
import type { Tasks } from '../../tasks/index.ts';
import { readFromStore, withinDeadline } from '../../telemetry/metrics/read-from-store.ts';
import { VERSION } from '../version.ts';

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

/**
 * Adds the sizes of caches in memory to `/metrics`; returns the function that registers a cache.
 */
export function measureCaches(registry: Registry): ReportCacheSize {
  const caches = new Map<string, () => number>();
  new Gauge({
    name: 'taskgate_cache_entries',
    help: 'Entries of each cache and table of counters in the memory of this node; each has an upper limit.',
    labelNames: ['cache'],
    registers: [registry],
    collect() {
      for (const [cache, size] of caches) this.set({ cache }, size());
    },
  });
  return (cache, size) => void caches.set(cache, size);
}

/** Counts sign-ins by method and outcome; returns the function that records each. */
export function countSignIns(registry: Registry): (sample: { method: string; outcome: string }) => void {
  const signIns = new Counter({
    name: 'taskgate_sign_ins_total',
    help: 'Sign-ins, confirmations and ends of sessions on this node, by method and by success or the reason of the failure.',
    labelNames: ['method', 'outcome'],
    registers: [registry],
  });
  return (sample) => signIns.inc(sample);
}

/**
 * Adds the figures of polling and of the sandbox to `/metrics`; they are read at every scrape.
 * Those of the database stay as they were while it is away, and `taskgate_database_up` says so.
 */
export function registerMetrics(
  registry: Registry,
  services: {
    tasks: Tasks;
    webhooks: Webhooks;
    results: Results;
    sandbox: Sandbox;
    disks: Pick<DiskWatch, 'states'>;
    backups: Pick<Backups, 'lastDone'>;
    dataCheck: Pick<DataCheck, 'latest'>;
    clockCheck: Pick<ClockCheck, 'aheadMs'>;
    databaseSize: () => Promise<{ bytes: number; freeBytes: number }>;
    clock: Clock;
    /** Rejects while the database is unavailable. */
    ping: () => Promise<unknown>;
  },
): void {
  const { tasks, webhooks, sandbox, disks, backups } = services;
  registerProcess(registry, services.clock);
  registerDatabaseState(registry, services.ping);
  const databaseSize = readFromStore(services.databaseSize);
  const queueDepth = readFromStore(() => tasks.queueDepth());
  const webhookDepth = readFromStore(() => webhooks.depth());
  registerBackups(
    registry,
    readFromStore(() => backups.lastDone().then((run) => run ?? { startedAt: 0, bytes: 0 })),
  );
  new Gauge({
    name: 'taskgate_clock_ahead_seconds',
    help: "How far the clock of this node is ahead of the database's; behind is negative, and SQLite has the same one.",
    registers: [registry],
    collect() {
      this.set(services.clockCheck.aheadMs() / 1000);
    },
  });
  registerDataCheck(
    registry,
    readFromStore(() => services.dataCheck.latest()),
  );
  registerTotals(registry, { tasks, webhooks });
  new Gauge({
    name: 'taskgate_database_bytes',
    help: 'Size of the database: all of it, and what a SQLite file keeps free for later rows.',
    labelNames: ['part'],
    registers: [registry],
    async collect() {
      const size = await databaseSize();
      if (!size) return;
      this.set({ part: 'all' }, size.bytes);
      this.set({ part: 'free' }, size.freeBytes);
    },
  });
  new Gauge({
    name: 'taskgate_disk_free_bytes',
    help: 'Free bytes of the file systems of this node: of the data directory and of the folder of uploads.',
    labelNames: ['place'],
    registers: [registry],
    collect() {
      for (const { name, freeBytes } of disks.states())
        if (freeBytes !== undefined) this.set({ place: name }, freeBytes);
    },
  });
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

function registerProcess(registry: Registry, clock: Clock): void {
  const startedAt = clock.unix();
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'When the gateway process was started, in Unix seconds.',
    registers: [registry],
  }).set(startedAt);
  new Gauge({
    name: 'taskgate_build_info',
    help: 'Always 1, with the version of the gateway as a label.',
    labelNames: ['version'],
    registers: [registry],
  }).set({ version: VERSION }, 1);
}

function registerDatabaseState(registry: Registry, ping: () => Promise<unknown>): void {
  const isUp = withinDeadline(ping);
  new Gauge({
    name: 'taskgate_database_up',
    help: 'Whether the database answers: 1 or 0. At 0, the figures read from it are the last ones known, or NaN.',
    registers: [registry],
    async collect() {
      this.set((await isUp()) ? 1 : 0);
    },
  });
}

/** What `taskgate_polls` and `taskgate_webhook_attempts` count, as counters. */
function registerTotals(
  registry: Registry,
  { tasks, webhooks }: { tasks: Pick<Tasks, 'stats'>; webhooks: Webhooks },
): void {
  new Counter({
    name: 'taskgate_polls_total',
    help: 'Polls that this node has made.',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(tasks.stats().polls);
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

/** Both are 0 before the first backup. */
function registerBackups(
  registry: Registry,
  lastDone: () => Promise<{ startedAt: number; bytes: number } | undefined>,
): void {
  new Gauge({
    name: 'taskgate_backup_last_success_timestamp_seconds',
    help: 'When the latest backup that was made and verified was begun, on all nodes, in Unix seconds.',
    registers: [registry],
    async collect() {
      this.set((await lastDone())?.startedAt ?? Number.NaN);
    },
  });
  new Gauge({
    name: 'taskgate_backup_last_size_bytes',
    help: 'Bytes of the latest backup: database and kept results.',
    registers: [registry],
    async collect() {
      this.set((await lastDone())?.bytes ?? Number.NaN);
    },
  });
}

/** Both are 0 before the first check. */
function registerDataCheck(registry: Registry, latest: () => Promise<DataCheckResult | undefined>): void {
  new Gauge({
    name: 'taskgate_data_check_timestamp_seconds',
    help: 'When the latest weekly check of pages, indexes and ledger ended, on all nodes, in Unix seconds.',
    registers: [registry],
    async collect() {
      this.set((await latest())?.checkedAt ?? Number.NaN);
    },
  });
  new Gauge({
    name: 'taskgate_data_check_faults',
    help: 'What the latest weekly check of pages, indexes and ledger found damaged.',
    registers: [registry],
    async collect() {
      this.set((await latest())?.faults.length ?? Number.NaN);
    },
  });
}
