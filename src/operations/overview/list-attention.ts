import type { Billing, OfferedModel } from '../../billing/index.ts';
import type { CapacityService, Channels } from '../../channels/index.ts';
import { type Clock, type Sentence, sentence } from '../../kernel/index.ts';
import type { Webhooks } from '../../notifications/index.ts';
import { findLaterHostRoute, type LoadedPlugin, type Marketplace, type PluginService } from '../../plugins/index.ts';
import type { Reports } from '../../reports/index.ts';
import type { Results } from '../../results/index.ts';
import type { SettingWarning } from '../../settings/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { STALLED_MS, type Tasks, type UnrecordedJobs } from '../../tasks/index.ts';
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
/** Jobs of vendors that could not be recorded, at most; the file of notes has the others. */
const SHOWN_JOBS = 20;
/** Webhooks that wait longer than this are reported. */
const OUTBOX_SECONDS = 3600;

export type AttentionDeps = {
  store: Store;
  clock: Clock;
  gateway: GatewayServices;
  taskRooms: TaskServices;
  watches: Watches;
  settings: SettingsFaults;
};

type GatewayServices = {
  plugins: PluginService;
  marketplace: Pick<Marketplace, 'revokedInUse'>;
  channels: Channels;
  capacity: Pick<CapacityService, 'describe'>;
  billing: Billing;
  offeredModels: () => OfferedModel[];
};

type TaskServices = {
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
  /** Whether it serves others than the person at this machine. */
  servesOthers: () => boolean;
  /** What fails while no option names the gateway's address. */
  missingAddress: () => Sentence | undefined;
  /** Settings that are unsafe or odd. */
  warnings: () => SettingWarning[];
  /** Why the TLS certificate that is served is not what it should be. */
  certificateFault: () => Sentence | undefined;
  /** False while nobody has decided whether old prompts and answers are removed. */
  isRetentionDecided: () => boolean;
  /** What clients are told while the gateway is closed; undefined: it is open. */
  maintenance: () => { message: string } | undefined;
  /** The address of a proxy that TRUSTED_PROXIES should list. */
  unlistedProxy: string | undefined;
};

/**
 * What an administrator should look at: errors first, then warnings, both by what is lost if nobody
 * looks. Data and money come before who gets in, that before what stops, what stops before what is
 * only missed.
 */
export async function listAttention(deps: AttentionDeps): Promise<AttentionItem[]> {
  const { gateway, taskRooms, watches, settings } = deps;
  const parts = await Promise.all([
    dataItems(watches),
    ledgerItems(watches),
    diskItems(watches),
    backupItems(deps),
    jobItems(taskRooms),
    revokedItems(gateway),
    settingItems(settings),
    proxyItems(settings),
    listNodeAttention(deps.store),
    clockItems(watches),
    pluginItems(gateway),
    failingItems(gateway),
    listChannelAttention({ ...gateway, ...taskRooms, clock: deps.clock }),
    taskItems(deps),
    listModelAttention(gateway),
    addressItems(settings),
    resultItems(taskRooms),
    noticeItems(deps),
    retentionItems(settings),
    maintenanceItems(settings),
  ]);
  const items = parts.flat();
  return [
    ...items.filter(({ severity }) => severity === 'error'),
    ...items.filter(({ severity }) => severity !== 'error'),
  ];
}

function pluginItems({ plugins }: GatewayServices): AttentionItem[] {
  const suspended = [...plugins.current().plugins.values()].filter((plugin) => plugin.suspended());
  return [
    ...suspended.map(({ key }) => ({
      code: 'plugin_suspended' as const,
      severity: 'error' as const,
      target: { kind: 'plugin' as const, id: key },
      ...sentence('attention.plugin_suspended', { plugin: key }),
    })),
    ...Object.entries(plugins.runtimeStatus().pluginErrors).map(([key, fault]) => ({
      code: 'plugin_failed' as const,
      severity: 'error' as const,
      target: { kind: 'plugin' as const, id: key },
      ...sentence('attention.plugin_failed', { plugin: key, fault }),
    })),
    ...[...plugins.current().plugins.values()].flatMap(keptPaths),
    ...plugins.exposedCredentials().map(({ key, version, places }) => ({
      code: 'credential_exposed' as const,
      severity: 'warning' as const,
      target: { kind: 'plugin' as const, id: key },
      ...sentence('attention.credential_exposed', {
        plugin: key,
        version,
        places: places.map(({ place, hook, calls }) => `${place} (${hook}, ${calls} ×)`).join(', '),
      }),
    })),
  ];
}

/** An older plugin may keep its routes where the gateway now has paths of its own. */
function keptPaths({ key, manifest }: LoadedPlugin): AttentionItem[] {
  const kept = manifest.routes.map(({ path }) => path).filter((path) => findLaterHostRoute(path) !== undefined);
  return [...new Set(kept)].map((path) => ({
    code: 'plugin_keeps_path' as const,
    severity: 'warning' as const,
    target: { kind: 'plugin' as const, id: key },
    ...sentence('attention.plugin_keeps_path', { plugin: key, path }),
  }));
}

async function failingItems({ plugins }: GatewayServices): Promise<AttentionItem[]> {
  return (await plugins.failing()).map(({ key, version, formerVersion, verdict, rolledBack }) => {
    const { stage, now, before } = verdict;
    const figures = {
      ...{ plugin: key, version, stage: sentence(`attention.stage_${stage}`), former: formerVersion },
      ...{ failures: now.failures, cases: now.cases },
    };
    const said =
      before.cases === 0
        ? sentence('attention.plugin_failing_new', figures)
        : sentence('attention.plugin_failing', {
            ...figures,
            ...{ formerFailures: before.failures, formerCases: before.cases },
          });
    return {
      code: rolledBack ? 'plugin_rolled_back' : 'plugin_failing',
      severity: rolledBack ? 'warning' : 'error',
      target: { kind: 'plugin', id: key },
      ...(rolledBack ? sentence('attention.plugin_rolled_back', { figures: said, former: formerVersion }) : said),
    };
  });
}

async function revokedItems({ marketplace }: GatewayServices): Promise<AttentionItem[]> {
  const revoked = await marketplace.revokedInUse();
  return revoked.map(({ key, version, source, reason, serves, unfinishedTasks }) => ({
    code: serves ? 'plugin_revoked' : 'plugin_revoked_tasks',
    severity: 'error',
    target: { kind: 'plugin', id: key },
    ...(serves
      ? sentence('attention.plugin_revoked', { plugin: key, version, source, reason })
      : sentence('attention.plugin_revoked_tasks', { plugin: key, version, source, reason, count: unfinishedTasks })),
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
    const said = sentence('attention.polls_late', { seconds });
    items.push({ code: 'polls_late', severity: 'error', target: { kind: 'system', id: null }, ...said });
  }
  const { stalledMs } = tasks.stats();
  if (stalledMs > STALLED_MS) {
    const said = sentence('attention.queue_stalled', { seconds: Math.round(stalledMs / 1000) });
    items.push({ code: 'queue_stalled', severity: 'error', target: { kind: 'queue', id: null }, ...said });
  }
  if (overdue > 0) {
    const said = sentence('attention.tasks_overdue', { count: overdue, hours: Math.round(age / 3600) });
    items.push({ code: 'tasks_overdue', severity: 'warning', target: { kind: 'tasks', id: null }, ...said });
  }
  if (outbox.oldestSeconds > OUTBOX_SECONDS) {
    const hours = Math.round(outbox.oldestSeconds / 3600);
    const said = sentence('attention.webhooks_late', { count: outbox.pending, hours });
    items.push({ code: 'webhooks_late', severity: 'warning', target: { kind: 'system', id: null }, ...said });
  }
  return items;
}

/** Named one by one: each is to be looked up, or cancelled, at its vendor. */
function jobItems({ unrecorded }: TaskServices): AttentionItem[] {
  const jobs = unrecorded.list();
  return jobs.slice(-SHOWN_JOBS).map(({ taskId, channelId, upstreamTaskId, isRecorded }) => ({
    code: 'vendor_job_unrecorded',
    severity: isRecorded ? 'warning' : 'error',
    target: { kind: 'channel', id: channelId },
    ...sentence(isRecorded ? 'attention.job_recorded_late' : 'attention.job_unrecorded', {
      ...{ job: upstreamTaskId, task: taskId, channel: channelId },
    }),
  }));
}

function addressItems({ missingAddress }: SettingsFaults): AttentionItem[] {
  const said = missingAddress();
  if (said === undefined) return [];
  const target = { kind: 'setting' as const, id: 'ServerAddress' };
  return [{ code: 'address_missing', severity: 'warning', target, ...said }];
}

function settingItems({ warnings, certificateFault }: SettingsFaults): AttentionItem[] {
  const items = warnings().map(
    ({ setting, code, ...warning }): AttentionItem => ({
      code,
      severity: 'warning',
      target: { kind: 'setting', id: setting },
      ...sentence('attention.setting_unsafe', { warning }),
    }),
  );
  const fault = certificateFault();
  if (!fault) return items;
  return [...items, { code: 'certificate_fault', severity: 'warning', target: { kind: 'system', id: null }, ...fault }];
}

function proxyItems({ unlistedProxy: address }: SettingsFaults): AttentionItem[] {
  if (address === undefined) return [];
  const target = { kind: 'setting' as const, id: 'TRUSTED_PROXIES' };
  const said = sentence('attention.proxy_not_listed', { address });
  return [{ code: 'proxy_not_listed', severity: 'warning', target, ...said }];
}

const CLOCK_REASONS = {
  clock_stepped: { back: 'attention.clock_back', ahead: 'attention.clock_ahead' },
  clock_differs: { back: 'attention.clock_behind_database', ahead: 'attention.clock_before_database' },
} as const;

const clockItems = ({ clockCheck }: Watches): AttentionItem[] =>
  clockCheck.faults().map(({ code, byMs }) => {
    const said = sentence(CLOCK_REASONS[code][byMs < 0 ? 'back' : 'ahead'], {
      seconds: Math.round(Math.abs(byMs) / 1000),
    });
    return { code, severity: 'warning', target: { kind: 'system', id: null }, ...said };
  });

function diskItems({ disks }: Watches): AttentionItem[] {
  const target = { kind: 'system' as const, id: null };
  const faults = disks.faults();
  if (faults.length > 0) {
    return faults.map((fault) => ({ code: 'disk_unwritable', severity: 'error', target, ...fault }));
  }
  return disks.low().map(({ path, freeBytes = 0 }) => {
    const said = sentence('attention.disk_low', { megabytes: Math.floor(freeBytes / 1024 / 1024), path });
    return { code: 'disk_low', severity: 'warning', target, ...said };
  });
}

async function resultItems({ results }: TaskServices): Promise<AttentionItem[]> {
  const { lost, pending } = await results.depth();
  const storageError = await results.findFault();
  const items: AttentionItem[] = [];
  if (storageError !== undefined) {
    const said = sentence('attention.results_blocked', { fault: storageError, count: pending });
    items.push({ code: 'results_blocked', severity: 'error', target: { kind: 'system', id: null }, ...said });
  }
  if (lost > 0) {
    const said = sentence('attention.results_lost', { count: lost });
    items.push({ code: 'results_lost', severity: 'warning', target: { kind: 'tasks', id: null }, ...said });
  }
  return items;
}

/** So that nobody forgets to open it again. */
function maintenanceItems({ maintenance }: SettingsFaults): AttentionItem[] {
  const closed = maintenance();
  if (!closed) return [];
  const target = { kind: 'setting' as const, id: 'maintenance.enabled' };
  const { message } = closed;
  return [
    { code: 'maintenance_on', severity: 'warning', target, ...sentence('attention.maintenance_on', { message }) },
  ];
}

function retentionItems({ isRetentionDecided }: SettingsFaults): AttentionItem[] {
  if (isRetentionDecided()) return [];
  const target = { kind: 'setting' as const, id: 'retention.enabled' };
  return [{ code: 'retention_undecided', severity: 'warning', target, ...sentence('attention.retention_undecided') }];
}

function ledgerItems({ ledger }: Watches): AttentionItem[] {
  const check = ledger();
  const count = (check?.wallets.length ?? 0) + (check?.tasks.length ?? 0);
  if (count === 0) return [];
  const target = { kind: 'system' as const, id: null };
  return [{ code: 'ledger_mismatch', severity: 'error', target, ...sentence('attention.ledger_mismatch', { count }) }];
}

/** The title and the advice say what to do; the finding itself is for the operator. */
async function dataItems({ dataCheck }: Watches): Promise<AttentionItem[]> {
  const { faults } = await dataCheck.latest();
  if (faults.length === 0) return [];
  const said = sentence('attention.data_damaged', { count: faults.length, detail: faults.join('; ') });
  return [{ code: 'data_damaged', severity: 'error', target: { kind: 'system', id: null }, ...said }];
}

async function backupItems({ watches: { backups }, settings }: AttentionDeps): Promise<AttentionItem[]> {
  const faults = (await backups.attention()).filter(({ code }) => code !== 'backup_off' || settings.servesOthers());
  return faults.map(({ code, ...said }) => ({
    code,
    severity: isWarning(code) ? 'warning' : 'error',
    target: code === 'backup_off' ? { kind: 'setting', id: 'backup.daily' } : { kind: 'system', id: null },
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
      ...sentence('attention.alert_undelivered', { alert: latest.event, attempts: latest.attempts, answer }),
    },
  ];
}
