import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import {
  AppError,
  type Clock,
  createSecretBox,
  type Logger,
  newUuid,
  OperatorError,
  quoted,
  type Sentence,
  sentence,
  silentLogger,
  systemClock,
  toSentence,
} from '../../kernel/index.ts';
import { type OptionValues, readOptions } from '../../settings/index.ts';
import { lockBackups } from '../../store/index.ts';
import type { BackupTrigger, Store } from '../../store/ports/index.ts';
import { readSecrets } from '../secrets/load-secrets.ts';
import { openStoreBesideGateway } from '../storage/open-store-beside-gateway.ts';
import type { StorageLocation } from '../storage/result-files.ts';
import { openBackupLocation, requireKnownFolder, requireSeparateResults, WORK_FOLDER } from './backup-location.ts';
import { createBackup } from './create-backup.ts';
import { type DueBackup, describeNotPruned, latestDueBackup, notePruning, RETRY_SECONDS } from './due-backups.ts';
import { findInstallation } from './manifest.ts';
import { type Keep, pruneBackups } from './prune-backups.ts';
import type { BackupConfig, BackupLocation, CreatedBackup, Seal } from './types.ts';

/**
 * A run whose process has died is over after this. Copying SQLite blocks the process, so its lease
 * must be longer; there a lock of the data directory tells sooner that a process has died.
 */
const LEASE_MS = { postgres: 90_000, sqlite: 1_800_000 };
const RENEW_MS = 20_000;

export type BackupRequest = {
  config: BackupConfig;
  version: string;
  to: StorageLocation;
  /** Takes a folder in which the backups that were made there are missing. */
  acceptFolder?: boolean;
  trigger: BackupTrigger;
  /** Names a run of the schedule by its day, so that one of several nodes makes it. */
  run?: (store: Store) => Promise<DueBackup>;
  seal: Seal | undefined;
  signal: AbortSignal;
  clock?: Clock;
  logger?: Logger;
  /** Runs once the backup is recorded, which it cannot undo; returns what did not work. */
  afterwards?: (at: { location: BackupLocation; store: Store }) => Promise<Sentence[]>;
};

/**
 * Makes a backup of the configured gateway and records the run in its database; the gateway may be
 * running. Undefined: another one is under way, or the run of that day is done or has just failed.
 * @throws `OperatorError` or `AppError` with the reason; the run is recorded as failed
 */
export async function runBackup(request: BackupRequest): Promise<CreatedBackup | undefined> {
  const { config, clock = systemClock, logger = silentLogger } = request;
  const dataDir = resolve(config.dataDir);
  const location = openBackupLocation({ config, clock, logger }, request.to);
  try {
    const store = await openStoreBesideGateway({ ...config, dataDir }, { clock, logger });
    try {
      const unlock = store.dialect === 'sqlite' ? lockBackups(dataDir) : () => {};
      if (!unlock) return undefined;
      try {
        return await recordRun(request, { store, location, clock, logger });
      } finally {
        unlock();
      }
    } finally {
      await store.close();
    }
  } finally {
    await location.close();
  }
}

async function recordRun(
  request: BackupRequest,
  { store, location, clock, logger }: { store: Store; location: BackupLocation; clock: Clock; logger: Logger },
): Promise<CreatedBackup | undefined> {
  const { config, trigger, run, seal } = request;
  // Not read for a backup without secrets: a gateway that has lost them must still get one.
  const secrets = seal && { ...readSecrets(config), seal };
  const due = await run?.(store);
  const lease = { id: due?.id ?? newUuid(), owner: newUuid() };
  const leaseForMs = LEASE_MS[store.dialect];
  const alone = store.dialect === 'sqlite';
  const dueAt = due ? { dueAt: due.at } : {};
  const begun = { trigger, place: location.name, leaseForMs, retrySeconds: RETRY_SECONDS, alone, ...dueAt };
  if (!(await store.backups.begin({ ...lease, ...begun }))) return undefined;
  const lost = new AbortController();
  const signal = AbortSignal.any([request.signal, lost.signal]);
  const ended = new AbortController();
  const renewing = renewUntilEnd({ store, clock, lease, leaseForMs, lost, ended: ended.signal });
  try {
    requireSeparateResults(config, request.to);
    if (!request.acceptFolder) await requireKnownFolder(store, location);
    const made = await createBackup(
      { config, version: request.version, clock, logger, location, signal, store },
      { trigger, secrets },
    );
    const said = joinWarnings(made.warnings);
    await store.backups.end(lease, { status: 'done', backup: made.manifest.id, bytes: made.bytes, said });
    const later = await request.afterwards?.({ location, store });
    return { ...made, warnings: [...made.warnings, ...(later ?? [])] };
  } catch (error) {
    const said = describeFailure(error, request.signal);
    await store.backups.end(lease, { status: 'failed', backup: '', bytes: 0, said }).catch(() => undefined);
    throw error instanceof OperatorError || error instanceof AppError ? error : new OperatorError(said);
  } finally {
    ended.abort();
    await renewing;
    // Only the run that holds the lease removes it: another process may be making a backup in this
    // folder.
    await rm(join(resolve(config.dataDir), WORK_FOLDER), { recursive: true, force: true }).catch(() => undefined);
  }
}

function joinWarnings([first, ...others]: readonly Sentence[]): Sentence | undefined {
  return first && others.reduce((all, rest) => sentence('backup.warnings', { first: all, rest }), first);
}

async function renewUntilEnd(deps: {
  store: Store;
  clock: Clock;
  lease: { id: string; owner: string };
  leaseForMs: number;
  lost: AbortController;
  ended: AbortSignal;
}): Promise<void> {
  const { store, clock, lease, leaseForMs, lost, ended } = deps;
  for (;;) {
    await clock.sleep(RENEW_MS, ended);
    if (ended.aborted) return;
    // A backup survives a database that is down for a moment, but not a lost lease.
    const held = await store.backups.renew(lease, leaseForMs).catch(() => true);
    if (!held) lost.abort();
  }
}

/** Safe to store and to show: our own sentences, or the kind of a fault. */
function describeFailure(error: unknown, signal: AbortSignal): Sentence {
  if (signal.aborted) return sentence('backup.stopped');
  if (error instanceof AppError) return toSentence(error);
  if (error instanceof OperatorError) return error.said ?? quoted(error.message);
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (/^[A-Z_0-9]{2,40}$/.test(code)) return sentence('backup.failed_code', { code });
  return sentence('backup.failed_code', { code: error instanceof Error ? error.name : 'unknown reason' });
}

/** Rows of runs stay for a year. */
const RUN_SECONDS = 366 * 86_400;
const BATCH = 500;

/**
 * Makes the backup of the day, unless it was made, and removes those that need not stay.
 * Undefined: none is due, or one is under way.
 */
export function runScheduledBackup(
  request: Pick<BackupRequest, 'config' | 'version' | 'to' | 'acceptFolder' | 'seal' | 'signal'>,
): Promise<CreatedBackup | undefined> {
  const box = createSecretBox(readSecrets(request.config).crypto);
  const readStoredOptions = async (store: Store) => readOptions(await store.options.all(), box);
  return runBackup({
    ...request,
    trigger: 'schedule',
    run: async (store) => latestDueBackup(systemClock.unix(), (await readStoredOptions(store)).number('backup.hour')),
    async afterwards({ location, store }) {
      const fault = await removeOld({ location, store, options: await readStoredOptions(store) }).then(
        () => undefined,
        (error) => describeFailure(error, request.signal),
      );
      await notePruning(store.options, fault);
      return fault === undefined ? [] : [describeNotPruned(fault)];
    },
  });
}

async function removeOld(deps: { location: BackupLocation; store: Store; options: OptionValues }): Promise<void> {
  const { location, store, options } = deps;
  const now = systemClock.unix();
  await store.backups.deleteOld(now - RUN_SECONDS, BATCH);
  const keep: Keep = {
    daily: options.number('backup.keep_daily'),
    weekly: options.number('backup.keep_weekly'),
    monthly: options.number('backup.keep_monthly'),
  };
  await pruneBackups(location, { keep, installation: await findInstallation(store), now });
}
