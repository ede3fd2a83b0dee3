import type { Billing, OfferedModel } from '../../billing/index.ts';
import type { CapacityService, Channels } from '../../channels/index.ts';
import { CLOCK_LEEWAY_SECONDS, type Clock, pluralize } from '../../kernel/index.ts';
import type { Webhooks } from '../../notifications/index.ts';
import { type LoadedPlugin, laterReservedBy, type Marketplace, type PluginService } from '../../plugins/index.ts';
import type { Reports } from '../../reports/index.ts';
import type { Results } from '../../results/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { Tasks, UnrecordedJobs } from '../../tasks/index.ts';
import { type Backups, isWarning } from '../backup/backup-schedule.ts';
import { LATE_MS } from '../doctor/doctor-checks.ts';
import type { DataCheck } from '../doctor/weekly-check.ts';
import type { LedgerCheck } from '../watches/check-ledger.ts';
import type { Notices } from '../watches/queue-notices.ts';
import type { ClockCheck } from '../watches/watch-clock.ts';
import type { DiskWatch } from '../watches/watch-disks.ts';
import { listChannelAttention } from './list-channel-attention.ts';
import { listModelAttention } from './list-model-attention.ts';
import { listNodeAttention } from './list-node-attention.ts';
import type { AttentionItem } from './types.ts';

/** Running tasks older than this are reported, unless TASK_TIMEOUT_MINUTES is shorter. */
const OVERDUE_SECONDS = 43_200;
/** Tasks that wait beside free slots for longer than this are reported. */
const STALLED_MS = 60_000;
/** Jobs of vendors that could not be recorded, at most; the file of notes has the others. */
const SHOWN_JOBS = 20;
/** Webhooks that wait longer than this are reported. */
const OUTBOX_SECONDS = 3600;

export type AttentionDeps = {
  store: Store;
  clock: Clock;
  gateway: GatewayRooms;
  taskRooms: TaskRooms;
  watches: Watches;
  settings: SettingsFaults;
};

type GatewayRooms = {
  plugins: PluginService;
  marketplace: Pick<Marketplace, 'revokedInUse'>;
  channels: Channels;
  capacity: Pick<CapacityService, 'describe'>;
  billing: Billing;
  offeredModels: () => OfferedModel[];
};

type TaskRooms = {
  tasks: Tasks;
  reports: Reports;
  webhooks: Webhooks;
  results: Results;
  unrecorded: Pick<UnrecordedJobs, 'list'>;
  /** TASK_TIMEOUT_MINUTES; 0 or less: never. */
  taskTimeoutMinutes: number;
};

type Watches = {
  ledger: () => LedgerCheck | undefined;
  clockCheck: Pick<ClockCheck, 'faults'>;
  /** The folders that this node writes to. */
  disks: Pick<DiskWatch, 'faults' | 'low'>;
  backups: Pick<Backups, 'attention'>;
  dataCheck: Pick<DataCheck, 'latest'>;
  notices: Pick<Notices, 'hasReceiver'>;
};

type SettingsFaults = {
  /** A sentence that says what to set while no option names the gateway's address. */
  missingAddress: () => string | undefined;
  /** Unsafe settings, each as a sentence. */
  risks: () => string[];
  /** False while nobody has decided whether old prompts and answers are removed. */
  isRetentionDecided: () => boolean;
  /** The address of a proxy that TRUSTED_PROXIES should list. */
  unlistedProxy: string | undefined;
};

/** What an administrator should look at, errors first. */
export async function listAttention(deps: AttentionDeps): Promise<AttentionItem[]> {
  const { gateway, taskRooms, watches, settings } = deps;
  const parts = await Promise.all([
    pluginItems(gateway),
    revokedItems(gateway),
    failingItems(gateway),
    listChannelAttention({ ...gateway, ...taskRooms, clock: deps.clock }),
    taskItems(deps),
    jobItems(taskRooms),
    listModelAttention(gateway),
    addressItems(settings),
    settingItems(settings),
    proxyItems(settings),
    diskItems(watches),
    clockItems(watches),
    resultItems(taskRooms),
    retentionItems(settings),
    ledgerItems(watches),
    dataItems(watches),
    listNodeAttention(deps.store),
    backupItems(watches),
    noticeItems(deps),
  ]);
  const items = parts.flat();
  return [
    ...items.filter(({ severity }) => severity === 'error'),
    ...items.filter(({ severity }) => severity !== 'error'),
  ];
}

const PLACES = { query: 'the address', body: 'the body', log: 'the log' } as const;

function pluginItems({ plugins }: GatewayRooms): AttentionItem[] {
  const suspended = [...plugins.current().plugins.values()].filter((plugin) => plugin.suspended());
  const broken = Object.entries(plugins.runtimeStatus().pluginErrors);
  return [
    ...suspended.map(({ key }) => ({
      code: 'plugin_suspended' as const,
      severity: 'error' as const,
      target: { kind: 'plugin' as const, id: key },
      params: { plugin: key },
      message: `The plugin "${key}" was killed too often on this node and accepts no new tasks for a few minutes.`,
    })),
    ...broken.map(([key, message]) => ({
      code: 'plugin_failed' as const,
      severity: 'error' as const,
      target: { kind: 'plugin' as const, id: key },
      params: { plugin: key },
      message: `The plugin "${key}" cannot serve the installed version: ${message}`,
    })),
    ...[...plugins.current().plugins.values()].flatMap(keptPaths),
    ...plugins.exposedCredentials().map(({ key, version, places }) => ({
      code: 'credential_exposed' as const,
      severity: 'warning' as const,
      target: { kind: 'plugin' as const, id: key },
      params: { plugin: key, version },
      message: `The plugin "${key}" ${version} puts its channel's key into ${places.map(({ place, hook, calls }) => `${PLACES[place]} (${hook}, ${pluralize(calls, 'call')})`).join(', ')}, not only into headers.`,
    })),
  ];
}

/** A plugin of before keeps its routes where the gateway now has paths of its own. */
function keptPaths({ key, manifest }: LoadedPlugin): AttentionItem[] {
  const kept = manifest.routes.map(({ path }) => path).filter((path) => laterReservedBy(path) !== undefined);
  return [...new Set(kept)].map((path) => ({
    code: 'plugin_keeps_path' as const,
    severity: 'warning' as const,
    target: { kind: 'plugin' as const, id: key },
    params: { plugin: key, path },
    message: `The plugin "${key}" answers ${path}, which the gateway would answer since a later release.`,
  }));
}

const STAGES = { submit: 'submissions', poll: 'polls', artifact: 'requests for results' } as const;

async function failingItems({ plugins }: GatewayRooms): Promise<AttentionItem[]> {
  return (await plugins.failing()).map(({ key, version, formerVersion, verdict, rolledBack }) => {
    const { stage, now, before } = verdict;
    const figure = ({ cases, failures }: typeof now): string =>
      `${failures} of ${cases} (${Math.round((100 * failures) / cases)} %)`;
    const former =
      before.cases === 0
        ? `version ${formerVersion} before it has none to compare with`
        : `of those of version ${formerVersion} before it, ${figure(before)}`;
    const figures = `Of the last ${STAGES[stage]} of "${key}" ${version}, ${figure(now)} failed; ${former}.`;
    return {
      code: rolledBack ? 'plugin_rolled_back' : 'plugin_failing',
      severity: rolledBack ? 'warning' : 'error',
      target: { kind: 'plugin', id: key },
      params: {
        plugin: key,
        version,
        former: formerVersion,
        failures: now.failures,
        cases: now.cases,
        formerFailures: before.failures,
        formerCases: before.cases,
      },
      message: rolledBack ? `${figures} The gateway went back to version ${formerVersion}.` : figures,
    };
  });
}

async function revokedItems({ marketplace }: GatewayRooms): Promise<AttentionItem[]> {
  const revoked = await marketplace.revokedInUse();
  return revoked.map(({ key, version, source, reason, serves, unfinishedTasks }) => ({
    code: serves ? 'plugin_revoked' : 'plugin_revoked_tasks',
    severity: 'error',
    target: { kind: 'plugin', id: key },
    params: { plugin: key, version, source, reason },
    message: `The plugin "${key}" ${serves ? 'serves' : `still polls ${unfinishedTasks} unfinished task(s) by its`} version ${version}, which the marketplace "${source}" has revoked: ${reason}`,
  }));
}

async function taskItems({
  store,
  clock,
  taskRooms: { tasks, webhooks, taskTimeoutMinutes },
}: AttentionDeps): Promise<AttentionItem[]> {
  const age = taskTimeoutMinutes > 0 ? Math.min(OVERDUE_SECONDS, taskTimeoutMinutes * 60) : OVERDUE_SECONDS;
  const [queue, outbox, overdue] = await Promise.all([
    tasks.queueDepth(),
    webhooks.depth(),
    store.figures.countOverdue(clock.unix() - age),
  ]);
  const items: AttentionItem[] = [];
  const seconds = Math.round(queue.latestLatenessMs / 1000);
  if (queue.latestLatenessMs > LATE_MS) {
    const message = `The latest poll is ${seconds} s late: no node polls (UPDATE_TASK), or they cannot keep up.`;
    items.push({
      code: 'polls_late',
      severity: 'error',
      target: { kind: 'system', id: null },
      message,
      params: { seconds },
    });
  }
  const { stalledMs } = tasks.stats();
  if (stalledMs > STALLED_MS) {
    const params = { seconds: Math.round(stalledMs / 1000) };
    const message = `Tasks have waited beside free slots for ${params.seconds} s, and this node sent none of them. Its log says why.`;
    items.push({ code: 'queue_stalled', severity: 'error', target: { kind: 'queue', id: null }, message, params });
  }
  if (overdue > 0) {
    const hours = Math.round(age / 3600);
    const message = `${pluralize(overdue, 'task runs', 'tasks run')} longer than ${hours} hours.`;
    const params = { count: overdue, hours };
    items.push({ code: 'tasks_overdue', severity: 'warning', target: { kind: 'tasks', id: null }, message, params });
  }
  if (outbox.oldestSeconds > OUTBOX_SECONDS) {
    const params = { count: outbox.pending, hours: Math.round(outbox.oldestSeconds / 3600) };
    const message = `${params.count} webhooks wait to be delivered, one of them for ${params.hours} hours or longer.`;
    items.push({ code: 'webhooks_late', severity: 'warning', target: { kind: 'system', id: null }, message, params });
  }
  return items;
}

/** Named one by one: each is to be looked up, or cancelled, at its vendor. */
function jobItems({ unrecorded }: TaskRooms): AttentionItem[] {
  const jobs = unrecorded.list();
  return jobs.slice(-SHOWN_JOBS).map(({ taskId, channelId, upstreamTaskId, isRecorded }) => ({
    code: 'vendor_job_unrecorded',
    severity: isRecorded ? 'warning' : 'error',
    target: { kind: 'channel', id: channelId },
    params: { job: upstreamTaskId, task: taskId, channel: channelId },
    message: `The vendor of channel ${channelId} runs the job "${upstreamTaskId}" for the task ${taskId}, which could not be recorded in time: nobody polls or bills it. ${isRecorded ? 'Its task names it now.' : 'Its id is noted, and recorded when the database can be written.'}`,
  }));
}

function addressItems({ missingAddress }: SettingsFaults): AttentionItem[] {
  const message = missingAddress();
  if (message === undefined) return [];
  const target = { kind: 'setting' as const, id: 'ServerAddress' };
  return [{ code: 'address_missing', severity: 'warning', target, message: `${message}.` }];
}

const settingItems = ({ risks }: SettingsFaults): AttentionItem[] =>
  risks().map((message) => ({
    code: 'setting_unsafe',
    severity: 'warning',
    target: { kind: 'setting', id: /^[A-Za-z_.]+/.exec(message)?.[0] ?? null },
    message,
  }));

function proxyItems({ unlistedProxy: peer }: SettingsFaults): AttentionItem[] {
  if (peer === undefined) return [];
  const message = `${peer} forwards requests for others and is not in TRUSTED_PROXIES: rate limits and allow-lists of API keys see one address for all its clients. If it is your proxy, set TRUSTED_PROXIES=${peer} (behind Docker, the bridge's network).`;
  return [
    {
      code: 'proxy_not_listed',
      severity: 'warning',
      target: { kind: 'setting', id: 'TRUSTED_PROXIES' },
      message,
      params: { address: peer },
    },
  ];
}

const clockItems = ({ clockCheck }: Watches): AttentionItem[] =>
  clockCheck.faults().map(({ code, byMs }) => {
    const seconds = Math.round(byMs / 1000);
    const stepped =
      seconds < 0
        ? `The clock of this node was set back by ${-seconds} s.`
        : `The clock of this node was set ahead by ${seconds} s, or its machine was suspended: nothing old is removed for an hour.`;
    const removes = Math.abs(seconds) > CLOCK_LEEWAY_SECONDS ? ', and it removes nothing old' : '';
    const differs = `The clock of this node is ${Math.abs(seconds)} s ${seconds < 0 ? 'behind' : 'ahead of'} the database's: people who sign in here may get 401 on other nodes${removes}. Set both by NTP.`;
    const message = code === 'clock_stepped' ? stepped : differs;
    return { code, severity: 'warning', target: { kind: 'system', id: null }, message, params: { seconds } };
  });

function diskItems({ disks }: Watches): AttentionItem[] {
  const target = { kind: 'system' as const, id: null };
  const faults = disks.faults();
  if (faults.length > 0) {
    return faults.map((fault) => ({ code: 'disk_unwritable', severity: 'error', target, ...fault }));
  }
  return disks.low().map(({ path, freeBytes = 0 }) => {
    const params = { megabytes: Math.floor(freeBytes / 1024 / 1024), path };
    const message = `Only ${params.megabytes} MB are free in ${path}.`;
    return { code: 'disk_low', severity: 'warning', target, message, params };
  });
}

async function resultItems({ results }: TaskRooms): Promise<AttentionItem[]> {
  const { lost, pending } = await results.depth();
  const storageError = await results.findFault();
  const items: AttentionItem[] = [];
  if (storageError !== undefined) {
    const message = `Results cannot be kept: ${storageError}. ${pending} wait; their tasks are not affected.`;
    const params = { count: pending };
    items.push({ code: 'results_blocked', severity: 'error', target: { kind: 'system', id: null }, message, params });
  }
  if (lost > 0) {
    const message = `${pluralize(lost, 'result')} of the last seven days could not be kept.`;
    const params = { count: lost };
    items.push({ code: 'results_lost', severity: 'warning', target: { kind: 'tasks', id: null }, message, params });
  }
  return items;
}

function retentionItems({ isRetentionDecided }: SettingsFaults): AttentionItem[] {
  if (isRetentionDecided()) return [];
  const target = { kind: 'setting' as const, id: 'retention.enabled' };
  const message =
    'Prompts and answers of old tasks are all kept, as before the update: switch retention.enabled on, or set the days of prompts, requests and answers to 0.';
  return [{ code: 'retention_undecided', severity: 'warning', target, message }];
}

function ledgerItems({ ledger }: Watches): AttentionItem[] {
  const check = ledger();
  const count = (check?.wallets.length ?? 0) + (check?.tasks.length ?? 0);
  if (count === 0) return [];
  const message = `${count} or more balances are not the sum of their ledger lines: run taskgate doctor.`;
  const target = { kind: 'system' as const, id: null };
  return [{ code: 'ledger_mismatch', severity: 'error', target, message, params: { count } }];
}

/** The title and the advice say what to do; the finding itself is for the operator. */
async function dataItems({ dataCheck }: Watches): Promise<AttentionItem[]> {
  const { faults } = await dataCheck.latest();
  if (faults.length === 0) return [];
  const message = `The weekly check of the data found: ${faults.join('; ')}`;
  const params = { count: faults.length };
  return [{ code: 'data_damaged', severity: 'error', target: { kind: 'system', id: null }, message, params }];
}

async function backupItems({ backups }: Watches): Promise<AttentionItem[]> {
  return (await backups.attention()).map(({ code, ...said }) => ({
    code,
    severity: isWarning(code) ? 'warning' : 'error',
    target: { kind: 'system', id: null },
    params: {},
    ...said,
  }));
}

async function noticeItems({ store, watches: { notices } }: AttentionDeps): Promise<AttentionItem[]> {
  const latest = notices.hasReceiver() ? await store.webhooks.latestOfOperator() : undefined;
  if (!latest || latest.status === 'delivered') return [];
  const status = latest.delivery?.httpStatus ?? 0;
  const answer = status === 0 ? (latest.delivery?.error ?? '') : String(status);
  return [
    {
      code: 'alert_webhook_failing',
      severity: 'warning',
      target: { kind: 'setting', id: 'alerts.webhook_url' },
      message: `The operator's webhook did not arrive: ${latest.event}, ${latest.attempts} attempts, last answer ${answer}.`,
      params: { event: latest.event, attempts: latest.attempts, answer },
    },
  ];
}
