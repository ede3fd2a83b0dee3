import { closeSync, fchmodSync, fstatSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { importNewApi } from '../../../importing/index.ts';
import { describeReport, type ImportReport } from '../../../importing/report.ts';
import {
  createSecretBox,
  OperatorError,
  randomToken,
  type SecretBox,
  silentLogger,
  systemClock,
  unwritable,
} from '../../../kernel/index.ts';
import { hasSecrets, openSecrets } from '../../../operations/secrets/load-secrets.ts';
import { prepareDataDir } from '../../../operations/start/prepare-data-dir.ts';
import { databaseVersion, migrateStore, openSource, openStore, readSourceAddress } from '../../../store/index.ts';
import type { Store } from '../../../store/ports/index.ts';
import type { Config } from '../../config/config-variables.ts';
import { answer, type CommandInput, EXIT, type ExitCode, option, UsageError } from '../command.ts';
import { readSettings } from '../read-settings.ts';

/** Users between two lines of progress on a terminal. */
const PROGRESS_USERS = 5000;

/**
 * Takes over a database of new-api, which is only read. The gateway may be running; new-api should
 * be stopped, since what happens there during the import is not taken.
 */
export async function run(input: CommandInput): Promise<ExitCode> {
  const given = option(input, 'from') ?? '';
  const text = given === '-' ? (await input.io.readStdin()).trim() : given;
  const address = readSourceAddress(text);
  if (!address.ok) throw new UsageError(`--from: ${address.error}`, 'import new-api');
  const { config } = readSettings(input);
  const dryRun = input.values['dry-run'] === true;
  const file = option(input, 'report');
  if (file !== undefined) writeReport(file, '');
  const opened = await openSource(address.value);
  if (!opened.ok) throw new OperatorError(`the source cannot be opened: ${opened.error}`);
  let report: ImportReport;
  try {
    report = await withTarget(config, dryRun, async ({ store, secretBox }) => {
      const done = await importNewApi({ store, secretBox, clock: systemClock }, opened.value, {
        dryRun,
        onProgress: (users) => {
          if (input.io.isTerminal && users % PROGRESS_USERS === 0) input.io.err(`${users} users written\n`);
        },
      });
      if (!dryRun) await writeAudit(store, done);
      return done;
    });
  } finally {
    await opened.value.close();
  }
  if (file !== undefined) writeReport(file, `${JSON.stringify(report, null, 2)}\n`);
  const more = file === undefined ? '' : `\n\nall remarks: ${file}`;
  answer(input, report, `${describeReport(report)}${more}`);
  return EXIT.ok;
}

type Work<T> = (target: { store: Store; secretBox: SecretBox }) => Promise<T>;

/**
 * A dry run writes nothing here either: no table, no secret. Where there is no database yet, it
 * compares with an empty one that is removed.
 */
async function withTarget<T>(config: Config, dryRun: boolean, work: Work<T>): Promise<T> {
  const isNew = (await databaseVersion(config)) === 0;
  if (!dryRun || !isNew) return withConfigured(config, { dryRun, isNew }, work);
  const dataDir = mkdtempSync(join(tmpdir(), 'taskgate-dry-run-'));
  try {
    await migrateStore({ ...STORE, databaseUrl: '', dataDir, synchronous: 'NORMAL' });
    return await withConfigured({ ...config, databaseUrl: '', dataDir }, { dryRun, isNew: false }, work);
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

const STORE = { clock: systemClock, logger: silentLogger };

async function withConfigured<T>(
  config: Config,
  { dryRun, isNew }: { dryRun: boolean; isNew: boolean },
  work: Work<T>,
): Promise<T> {
  const isLocal = config.databaseUrl === '';
  const dataDir = isLocal && !dryRun ? prepareDataDir(config.dataDir).path : config.dataDir;
  const store = await openStore({
    databaseUrl: config.databaseUrl,
    dataDir,
    synchronous: config.sqliteSynchronous,
    ...STORE,
    exclusive: false,
    // An older gateway may be serving what is there.
    migrate: isNew,
  });
  try {
    const isSecret = !dryRun || hasSecrets(config, dataDir);
    const secretBox = createSecretBox(
      isSecret ? (await openSecrets(config, { store, dataDir })).crypto : [randomToken(48)],
    );
    return await work({ store, secretBox });
  } finally {
    await store.close();
  }
}

async function writeAudit(store: Store, { source, taken }: ImportReport): Promise<void> {
  const actor = { userId: null, username: '', authMethod: 'cli', ip: '' };
  const createdAt = systemClock.unix();
  await store.logs.addAudit({
    ...actor,
    action: 'import.new_api',
    target: `import:${source.key}`,
    detail: { taken },
    createdAt,
  });
}

/** It names people: only its owner may read it. Tried before the work begins. */
function writeReport(path: string, content: string): void {
  try {
    const file = openSync(path, 'w', 0o600);
    try {
      // A file that was there keeps its mode. Other programs use a device such as /dev/null.
      if (fstatSync(file).isFile()) fchmodSync(file, 0o600);
      writeFileSync(file, content);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw unwritable(path, error);
  }
}
