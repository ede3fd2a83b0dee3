import { type Clock, withoutMessage } from '../../kernel/index.ts';
import type { Webhooks } from '../../notifications/index.ts';
import type { PluginService } from '../../plugins/index.ts';
import type { Sandbox } from '../../sandbox/index.ts';
import { type AliveNode, NODE_ALIVE_SECONDS, SAMPLE_SECONDS, type Store } from '../../store/ports/index.ts';
import type { Tasks } from '../../tasks/index.ts';
import type { Backups } from '../backup/backup-schedule.ts';
import { LATE_MS } from '../doctor/doctor-checks.ts';
import type { LedgerCheck } from '../watches/check-ledger.ts';
import type { BackupsView, SystemHistory, SystemView } from './types.ts';

/** Nodes are listed this long after their last heartbeat. */
const LISTED_SECONDS = 86_400;

/** The settings that the system page shows. */
type SystemConfig = {
  updateTask: boolean;
  sandboxProcesses: number;
  redisUrl: string;
  pollIntervalSeconds: number;
  pollChannelConcurrency: number;
  pollMaxFailures: number;
  taskTimeoutMinutes: number;
  protocolTimeoutSeconds: number;
  maxFileMb: number;
  syncFrequency: number;
  shutdownSeconds: number;
};

/** What the system page shows, as this node sees it. */
export async function describeSystem(deps: {
  store: Store;
  config: SystemConfig;
  nodeId: string;
  sandbox: Sandbox;
  plugins: PluginService;
  tasks: Tasks;
  webhooks: Webhooks;
  ledger: () => LedgerCheck | undefined;
}): Promise<SystemView> {
  const { store, config, tasks } = deps;
  const [nodes, queue, outbox, { bytes, freeBytes }] = await Promise.all([
    store.nodes.alive(LISTED_SECONDS),
    tasks.queueDepth(),
    deps.webhooks.depth(),
    store.figures.databaseSize(),
  ]);
  const { polls, running, waiting } = tasks.stats();
  const { processes, calls, kills, queued, suspended, residentBytes } = deps.sandbox.stats();
  const { currentGeneration, generationPublishedAt, pluginErrors } = deps.plugins.runtimeStatus();
  const isAlive = ({ silentSeconds }: AliveNode) => silentSeconds <= NODE_ALIVE_SECONDS;
  // A SQLite database has one process: another row belongs to one that was killed.
  const shown = nodes.filter((node) => isAlive(node) || store.dialect === 'postgres');
  return {
    nodes: shown.map((node) => ({
      id: node.id,
      host: node.host,
      role: node.role,
      version: node.version,
      started_at: node.startedAt,
      heartbeat_at: node.heartbeatAt,
      alive: isAlive(node),
      drained: node.drained,
      self: node.id === deps.nodeId,
    })),
    queue: { unfinished: queue.unfinished, due: queue.due, latest_lateness_ms: queue.latestLatenessMs },
    polls: { polling: config.updateTask, made: polls, running, waiting },
    sandbox: {
      processes,
      max_processes: config.sandboxProcesses,
      calls,
      kills,
      queued,
      suspended,
      resident_bytes: residentBytes,
    },
    plugins: {
      generation: currentGeneration,
      published_at: generationPublishedAt,
      errors: Object.fromEntries(Object.entries(pluginErrors).map(([key, { message }]) => [key, message])),
      error_sentences: Object.fromEntries(
        Object.entries(pluginErrors).map(([key, said]) => [key, withoutMessage(said)]),
      ),
    },
    webhooks: { pending: outbox.pending, oldest_seconds: outbox.oldestSeconds },
    database: { kind: store.dialect, bytes, free_bytes: freeBytes, shared_cache: config.redisUrl !== '' },
    ledger: describeLedger(deps.ledger()),
    limits: {
      TASK_POLL_INTERVAL_SECONDS: config.pollIntervalSeconds,
      TASK_POLL_CHANNEL_CONCURRENCY: config.pollChannelConcurrency,
      TASK_POLL_MAX_FAILURES: config.pollMaxFailures,
      TASK_TIMEOUT_MINUTES: config.taskTimeoutMinutes,
      TASK_PLUGIN_PROTOCOL_TIMEOUT_SECONDS: config.protocolTimeoutSeconds,
      MAX_FILE_DOWNLOAD_MB: config.maxFileMb,
      SYNC_FREQUENCY: config.syncFrequency,
      SHUTDOWN_TIMEOUT_SECONDS: config.shutdownSeconds,
    },
  };
}

function describeLedger(check: LedgerCheck | undefined): SystemView['ledger'] {
  if (!check) return null;
  return {
    checked_at: check.checkedAt,
    ok: check.wallets.length + check.tasks.length === 0,
    users: check.wallets.flatMap(({ userId, quota, ledger }) =>
      userId === null ? [] : [{ user_id: userId, quota, ledger }],
    ),
    tasks: check.tasks.map(({ taskId, ...row }) => ({ task_id: taskId, ...row })),
  };
}

/** Hours that a point stands for: at most 200 points, each of whole samples. */
const STEP_SECONDS = { 24: 2 * SAMPLE_SECONDS, 168: 3600, 336: 7200 } as const;
/** Runs of backups that are looked at. */
const MAX_RUNS = 200;

/** The gateway's state over the last hours, in at most 200 points. */
export async function describeSystemHistory(
  { store, clock }: { store: Store; clock: Clock },
  hours: keyof typeof STEP_SECONDS,
): Promise<SystemHistory> {
  const step = STEP_SECONDS[hours];
  const now = clock.unix();
  const end = now - (now % step) + step;
  const from = end - hours * 3600;
  const [nodes, gateway, runs] = await Promise.all([
    store.samples.nodes(from, step),
    store.samples.gateway(from, step),
    store.backups.latest(MAX_RUNS),
  ]);
  const ofNodes = new Map(nodes.map((sample) => [sample.start, sample]));
  const shared = new Map(gateway.map((sample) => [sample.start, sample]));
  return {
    step_seconds: step,
    late_ms: LATE_MS,
    points: Array.from({ length: (end - from) / step }, (_, i) => {
      const at = from + i * step;
      const node = ofNodes.get(at);
      const whole = shared.get(at);
      return {
        at,
        polls: node?.polls ?? null,
        lag_ms: node?.lagMs ?? null,
        unfinished: whole?.unfinished ?? null,
        due: whole?.due ?? null,
        lateness_ms: whole?.latenessMs ?? null,
        database_bytes: whole?.databaseBytes ?? null,
      };
    }),
    backups: runs
      .filter(({ startedAt, endedAt }) => startedAt >= from && endedAt > 0)
      .reverse()
      .map(({ startedAt, endedAt, status, bytes }) => ({
        at: startedAt,
        seconds: Math.max(0, endedAt - startedAt),
        done: status === 'done',
        bytes,
      })),
  };
}

/** What the system page shows of backups. */
export async function describeBackups(backups: Pick<Backups, 'report'>): Promise<BackupsView> {
  const { runs, ...report } = await backups.report();
  return {
    ...report,
    runs: runs.map(({ startedAt, endedAt, messageSentence: said, ...run }) => ({
      ...{ ...run, started_at: startedAt, ended_at: endedAt },
      ...{ reason: said?.reason ?? null, params: said?.params ?? null },
    })),
  };
}
