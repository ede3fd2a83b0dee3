/**
 * Backups of a serving gateway. Each is made by a process of its own, `taskgate backup create`, of
 * low priority: copying SQLite blocks a process, and the memory that it takes is freed when that
 * process ends.
 */
import {
  type Clock,
  isObject,
  type Logger,
  parseJson,
  quoted,
  type Sentence,
  sentence,
  sleepInStep,
} from '../../kernel/index.ts';
import type { OptionValues } from '../../settings/index.ts';
import { BACKUP_CLOCK_SECONDS, type BackupRun, type Store } from '../../store/ports/index.ts';
import type { Notices } from '../watches/queue-notices.ts';
import { describeLocation } from './backup-location.ts';
import {
  claimNotification,
  describeNotPruned,
  hasRun,
  latestDueBackup,
  noteSchedule,
  pruningFault,
  RETRY_SECONDS,
  scheduledSince,
} from './due-backups.ts';
import type { BackupConfig } from './types.ts';

/** Looks for what is due soon after the start, then at this interval. */
const FIRST_LOOK_MS = 30_000;
const LOOK_MS = 60_000;
const DAY_SECONDS = 86_400;
/** How long after its hour a missing backup is overdue: making it may take a while. */
const OVERDUE_SECONDS = 6 * 3600;
const SHOWN_RUNS = 10;
const SHOWN_WARNINGS = 10;
const ANSWER_BYTES = 64 * 1024;
/**
 * How long a backup may take to stop, and then to be gone once it was killed: copying a large
 * SQLite database, or a folder whose server is away, holds its process. Without a manifest, what it
 * has written is no backup.
 */
const STOP_MS = 2000;

export type BackupReport = {
  /** Null: BACKUP_TO is not set. */
  place: string | null;
  daily: boolean;
  hour: number;
  /** Whether the secrets are in the backups of the schedule and of the panel. */
  sealed: boolean;
  runs: BackupRun[];
};

type BackupFault = 'backup_off' | 'backup_failed' | 'backup_overdue' | 'backup_unsealed' | 'backup_not_pruned';

/** Faults of which somebody may know: backups are made all the same, or were never asked for. */
export const isWarning = (code: BackupFault): boolean => code !== 'backup_failed' && code !== 'backup_overdue';

export type Backups = {
  report(): Promise<BackupReport>;
  lastDone(): Promise<BackupRun | undefined>;
  /** What an administrator should look at. */
  attention(): Promise<({ code: BackupFault } & Sentence)[]>;
  /** Begins a backup at once, in a process of its own. False: no place is set. */
  begin(): boolean;
  /**
   * Makes a backup each day from now on. `store.backups.begin` lets one of several nodes make
   * it (`run-backup.ts`).
   */
  start(): void;
  stop(): Promise<void>;
};

type Deps = {
  store: Pick<Store, 'backups' | 'options'>;
  clock: Clock;
  logger: Logger;
  config: BackupConfig;
  options: OptionValues;
  /** This program, as a command to which words are added. */
  program: readonly string[];
  notices: Pick<Notices, 'write'>;
};

export function createBackups(deps: Deps): Backups {
  const { store, clock, logger, config, options, program, notices } = deps;
  const place = describeLocation(config);
  const sealed = config.backupRecipients !== '' || config.backupPassphrase !== '' || config.backupPassphraseFile !== '';
  const stopping = new AbortController();
  const children = new Set<Bun.Subprocess>();
  let looking: Promise<void> | undefined;
  /** Why the last one failed here: before it could record a run, no row says so. */
  let failure: { reason: string; at: number } | undefined;

  async function make(words: readonly string[]): Promise<void> {
    const command = [...program, 'backup', 'create', '--json', '--data-dir', config.dataDir, ...words];
    const child = Bun.spawn(command, { stdin: 'ignore', stdout: 'pipe', stderr: 'ignore' });
    children.add(child);
    try {
      const text = (await new Response(child.stdout).text()).slice(0, ANSWER_BYTES);
      const code = await child.exited;
      if (stopping.signal.aborted) return;
      const answer = readAnswer(text);
      if (code === 0) {
        failure = undefined;
        if (answer.created) logger.info({ backup: answer.id, bytes: answer.bytes }, 'a backup was made and verified');
        for (const warning of Array.isArray(answer.warnings) ? answer.warnings.slice(0, SHOWN_WARNINGS) : []) {
          logger.warn({ backup: answer.id, reason: String(warning).slice(0, 500) }, 'a backup was made with a warning');
        }
        return;
      }
      const reason = String(answer.error ?? `its process ended with ${code}`).slice(0, 500);
      failure = { reason, at: clock.unix() };
      logger.error({ reason }, 'a backup failed');
      if (!words.includes('--schedule')) return;
      // It is tried again each hour, or each minute where it failed before it began.
      const due = latestDueBackup(clock.unix(), options.number('backup.hour'));
      await notices.write(async (tx, queue) => {
        if (!(await claimNotification(tx.options, 'failed', due))) return;
        const mail = { kind: 'backup_failed', reason } as const;
        await queue({ event: 'backup.failed', subject: 'backup', data: { reason }, mail });
      });
    } finally {
      children.delete(child);
    }
  }

  async function makeIfDue(): Promise<void> {
    if (place === null || !options.flag('backup.daily')) return;
    const now = clock.unix();
    const due = latestDueBackup(now, options.number('backup.hour'));
    const runs = await store.backups.latest(SHOWN_RUNS);
    const run = runs.find((each) => each.id === due.id);
    const isWaiting =
      run?.status === 'failed' && now - run.endedAt < RETRY_SECONDS && run.endedAt <= now + BACKUP_CLOCK_SECONDS;
    if (run?.status === 'running' || isWaiting || hasRun(runs, due)) return;
    await make(['--schedule']);
  }

  /** The latest runs, the newest first. One from the future, by a wrong clock, says nothing. */
  async function pastRuns(): Promise<BackupRun[]> {
    const limit = clock.unix() + BACKUP_CLOCK_SECONDS;
    return (await store.backups.latest(SHOWN_RUNS)).filter(({ startedAt }) => startedAt <= limit);
  }

  async function lastDone(): Promise<BackupRun | undefined> {
    const done = await store.backups.latestDone();
    if (done === undefined || done.startedAt <= clock.unix() + BACKUP_CLOCK_SECONDS) return done;
    return (await pastRuns()).find(({ status }) => status === 'done');
  }

  /** Another process may have made one since: a node, or `taskgate backup create`. */
  async function standingFailure(): Promise<string | undefined> {
    if (failure === undefined) return undefined;
    const done = await lastDone();
    return done !== undefined && done.endedAt > failure.at ? undefined : failure.reason;
  }

  /** The hours since the latest backup where one is overdue, or since they are made each day. */
  async function overdueHours(latest: BackupRun | undefined): Promise<{ hours: number; isFirst: boolean } | undefined> {
    const done = await lastDone();
    const from = Math.max(done?.startedAt ?? 0, await scheduledSince(store.options));
    const { at } = latestDueBackup(clock.unix(), options.number('backup.hour'));
    // What was due before the last one counts once this one has had its time as well.
    const limit = clock.unix() - at > OVERDUE_SECONDS ? at : at - DAY_SECONDS;
    if (from === 0 || from >= limit || latest?.status === 'running') return undefined;
    const shown = done?.startedAt ?? from;
    return { hours: Math.floor((clock.unix() - shown) / 3600), isFirst: done === undefined };
  }

  async function notifyIfOverdue(): Promise<void> {
    const isOn = place !== null && options.flag('backup.daily');
    await noteSchedule(store.options, isOn, clock.unix());
    if (!isOn) return;
    const [latest] = await pastRuns();
    // They already know of one that failed.
    if (latest?.status === 'failed' || (await standingFailure()) !== undefined) return;
    const overdue = await overdueHours(latest);
    if (!overdue) return;
    const due = latestDueBackup(clock.unix(), options.number('backup.hour'));
    const { hours } = overdue;
    await notices.write(async (tx, queue) => {
      if (!(await claimNotification(tx.options, 'overdue', due))) return;
      const mail = { kind: 'backup_overdue', hours } as const;
      await queue({ event: 'backup.overdue', subject: 'backup', data: { hours }, mail });
    });
  }

  async function checkRegularly(): Promise<void> {
    await clock.sleep(FIRST_LOOK_MS, stopping.signal);
    while (!stopping.signal.aborted) {
      await makeIfDue().catch((error) =>
        logger.warn({ err: error }, 'could not start the daily backup; trying again in a minute'),
      );
      await notifyIfOverdue().catch((error) =>
        logger.warn({ err: error }, 'could not notify anyone of a missing backup'),
      );
      await sleepInStep(clock, LOOK_MS, stopping.signal);
    }
  }

  return {
    async report() {
      const runs = await store.backups.latest(SHOWN_RUNS);
      return { place, daily: options.flag('backup.daily'), hour: options.number('backup.hour'), sealed, runs };
    },

    lastDone,

    async attention() {
      const items: Awaited<ReturnType<Backups['attention']>> = [];
      const [latest] = await pastRuns();
      const reason = await standingFailure();
      const fault = latest?.status === 'failed' ? readFault(latest) : reason && quoted(reason);
      if (fault) items.push({ code: 'backup_failed', ...sentence('backup.latest_failed', { fault }) });
      const isDaily = options.flag('backup.daily');
      if (place === null && isDaily) {
        items.push({ code: 'backup_overdue', ...sentence('backup.no_place') });
      } else if (place === null && config.databaseUrl === '') {
        // A PostgreSQL server is often backed up by others.
        items.push({ code: 'backup_off', ...sentence('attention.backup_off') });
      } else if (isDaily && !fault) {
        const overdue = await overdueHours(latest);
        if (overdue) {
          const { hours, isFirst } = overdue;
          const said = sentence(isFirst ? 'attention.backup_never' : 'attention.backup_old', { hours });
          items.push({ code: 'backup_overdue', ...said });
        }
      }
      const stays = isDaily && place !== null ? await pruningFault(store.options) : undefined;
      if (stays) {
        items.push({ code: 'backup_not_pruned', ...describeNotPruned(stays) });
      }
      if (isDaily && place !== null && !sealed) {
        items.push({ code: 'backup_unsealed', ...sentence('attention.backup_unsealed') });
      }
      return items;
    },

    begin() {
      if (place === null) return false;
      make(sealed ? [] : ['--without-secrets']).catch((error) => logger.error({ err: error }, 'a backup failed'));
      return true;
    },

    start() {
      looking = checkRegularly();
    },

    async stop() {
      stopping.abort();
      const ended = new AbortController();
      const all = Promise.all([looking, ...[...children].map(({ exited }) => exited)]).finally(() => ended.abort());
      for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
        for (const child of children) child.kill(signal);
        await Promise.race([all, clock.sleep(STOP_MS, ended.signal)]);
      }
    },
  };
}

/** Older runs have only the words. */
const readFault = ({ message, messageSentence: said }: BackupRun): Sentence =>
  said ? { message, ...said } : quoted(message);

function readAnswer(text: string): {
  created?: unknown;
  id?: unknown;
  bytes?: unknown;
  warnings?: unknown;
  error?: unknown;
} {
  const value = parseJson(text.trim().split('\n').at(-1) ?? '');
  return isObject(value) ? value : {};
}
