import { existsSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { OperatorError, pluralize, silentLogger, systemClock } from '../../../kernel/index.ts';
import { loadSecrets, SECRETS_FILE } from '../../../operations/secrets/load-secrets.ts';
import { findStartProblems } from '../../../operations/start/find-start-problems.ts';
import { prepareDataDir } from '../../../operations/start/prepare-data-dir.ts';
import {
  migrateStore,
  moveDatabase,
  replaceSqlite,
  type SalvagedTable,
  salvagePostgres,
  salvageSqlite,
} from '../../../store/index.ts';
import type { Config } from '../../config/config-variables.ts';
import { answer, type CommandInput, EXIT, type ExitCode, option, UsageError } from '../command.ts';
import { readSettings } from '../read-settings.ts';
import { noDatabaseIn, requireDatabase } from '../require-database.ts';

/**
 * Runs the pending migrations, or with `--dry-run` lists them and what would stop a start. A
 * gateway also migrates when it starts.
 */
export async function migrate(input: CommandInput): Promise<ExitCode> {
  const { config } = readSettings(input);
  if (input.values['dry-run'] === true) return listPending(input, config);
  const migrations = await migrateStore({
    databaseUrl: config.databaseUrl,
    dataDir: config.databaseUrl === '' ? prepareDataDir(config.dataDir).path : config.dataDir,
    synchronous: config.sqliteSynchronous,
    clock: systemClock,
    logger: silentLogger,
  });
  answer(input, { ok: true, dry_run: false, migrations }, describeMigrations('ran', migrations));
  return EXIT.ok;
}

async function listPending(input: CommandInput, config: Config): Promise<ExitCode> {
  const { migrations, problems } = await findStartProblems(config);
  const ok = problems.length === 0;
  const text = ok
    ? describeMigrations('would run', migrations)
    : `a gateway would not start:\n${problems.map((problem) => `  ${problem}`).join('\n')}`;
  answer(input, { ok, dry_run: true, migrations, problems }, text);
  return ok ? EXIT.ok : EXIT.failed;
}

const describeMigrations = (what: string, names: readonly string[]): string =>
  names.length === 0 ? 'the database is up to date' : `${what}: ${names.join(', ')}`;

const POSTGRES = /^postgres(?:ql)?:\/\//i;
/** What was meant as an address is no name of a folder. It may hold a password: never show it. */
const ADDRESS = /^(?:[a-z][a-z0-9+.-]*:\/\/|postgres(?:ql)?:)/i;

/** Moves everything into another database; the gateway must be stopped. */
export async function moveToOther(input: CommandInput): Promise<ExitCode> {
  const given = option(input, 'to') ?? '';
  // An address has a password, which the list of processes would show.
  const text = given === '-' ? (await input.io.readStdin()).trim() : given;
  if (text === '') throw new UsageError('--to is empty', 'move-database');
  if (ADDRESS.test(text) && !POSTGRES.test(text)) {
    throw new UsageError(
      '--to is neither postgres://user:password@host:5432/database nor a data directory',
      'move-database',
    );
  }
  const to = POSTGRES.test(text) ? { databaseUrl: text, dataDir: '' } : { databaseUrl: '', dataDir: resolve(text) };
  const { config } = readSettings(input, { needsSecrets: false });
  await requireDatabase(config);
  const from = { databaseUrl: config.databaseUrl, dataDir: resolve(config.dataDir) };
  if (from.databaseUrl === to.databaseUrl && (from.databaseUrl !== '' || from.dataDir === to.dataDir))
    throw new OperatorError('--to is the database itself: name another one');
  const { resumed, tables } = await moveDatabase({
    ...{ from, to, clock: systemClock, logger: silentLogger },
    onTable: (table, rows) =>
      input.io.isTerminal && input.io.err(`${table}: ${pluralize(rows, 'row')}, the same in both\n`),
  });
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const lines = [
    `${resumed ? 'went on: ' : ''}${pluralize(rows, 'row')} of ${pluralize(tables.length, 'table')} are in the new database; counts, ledger sums and digests agree`,
    'the former database is closed for good: delete it when all works',
    ...nextSteps({ from, to, config }),
  ];
  answer(input, { ok: true, resumed, tables }, lines.join('\n'));
  return EXIT.ok;
}

type Place = { databaseUrl: string; dataDir: string };

function nextSteps({ from, to, config }: { from: Place; to: Place; config: Config }): string[] {
  const path = join(from.dataDir, SECRETS_FILE);
  const isComplete = config.sessionSecret !== '' && config.cryptoSecret !== '';
  const stored = from.databaseUrl === '' && !isComplete && existsSync(path) ? path : undefined;
  if (to.databaseUrl !== '')
    return [
      'set DATABASE_URL to it, keep DATA_DIR as it is (kept results are there), and start the gateway',
      ...(stored === undefined ? [] : [describeStoredSecrets(config, from.dataDir)]),
    ];
  const keep = stored === undefined ? ', keep SESSION_SECRET and CRYPTO_SECRET in the environment' : '';
  return [
    ...(stored === undefined ? [] : [`copy ${stored} into ${to.dataDir}: only its secrets decrypt what is stored`]),
    `${config.databaseUrl === '' ? '' : 'remove DATABASE_URL, '}set DATA_DIR to ${to.dataDir}${keep}, and start the gateway`,
    'kept results stay where they are: name their folder by RESULTS_URL, or move the folder "results" along',
  ];
}

/** Former secrets still verify and decrypt what nothing seals again: links and backup codes. */
function describeStoredSecrets(config: Config, dataDir: string): string {
  const { session, crypto } = loadSecrets(config, dataDir);
  const former = [
    ...(session.length > 1 ? ['SESSION_SECRET_PREVIOUS'] : []),
    ...(crypto.length > 1 ? ['CRYPTO_SECRET_PREVIOUS'] : []),
  ];
  const rest = former.length === 0 ? '' : `, and ${former.join(' and ')} to the former ones there, comma-separated`;
  return `set SESSION_SECRET and CRYPTO_SECRET to the values in ${join(dataDir, SECRETS_FILE)}${rest}: on PostgreSQL they belong into the environment`;
}

const OF_A_GATEWAY = ['taskgate.db', 'taskgate.lock', 'secrets.json'];

/** Puts a copy of the SQLite database into its place; the gateway must be stopped. */
export async function restoreCopy(input: CommandInput): Promise<ExitCode> {
  const [given = ''] = input.positionals;
  // Before the folder of the command may change.
  const file = isAbsolute(given) ? given : resolve(given);
  const { config } = readSettings(input, { needsSecrets: false });
  if (config.databaseUrl !== '') {
    throw new OperatorError('DATABASE_URL is set: a copy can only replace a SQLite database');
  }
  // The database itself may be away: somebody has moved it out of the copy's way.
  if (!OF_A_GATEWAY.some((name) => existsSync(join(config.dataDir, name)))) throw noDatabaseIn(config.dataDir);
  const { path: dataDir } = prepareDataDir(config.dataDir);
  const former = replaceSqlite({ dataDir, file, now: systemClock.unix() });
  const lines = [
    `${file} is the database of ${dataDir} now`,
    ...(former === undefined ? [] : [`the former one is kept as ${former}, with its log: delete both when all works`]),
    'start the gateway, then run taskgate doctor',
  ];
  answer(input, { ok: true, data_dir: dataDir, former: former ?? null }, lines.join('\n'));
  return EXIT.ok;
}

/** Exports what can be read of a damaged database; exit 0 also where rows are lost. */
export async function salvage(input: CommandInput): Promise<ExitCode> {
  // Before the folder of the command may change.
  const given = option(input, 'to') ?? '';
  if (ADDRESS.test(given)) throw new UsageError('--to is an address: name a new folder', 'salvage');
  const to = resolve(given);
  const { config } = readSettings(input, { needsSecrets: false });
  const { databaseUrl } = config;
  const output = { to, now: systemClock.unix() };
  const tables =
    databaseUrl === ''
      ? salvageSqlite({ dataDir: resolve(config.dataDir), ...output })
      : await salvagePostgres({ databaseUrl, ...output });
  const hurt = tables.filter(({ gaps, rows, put }) => gaps > 0 || put < rows);
  const lines = [
    `${pluralize(
      tables.reduce((sum, { rows }) => sum + rows, 0),
      'row',
    )} of ${pluralize(tables.length, 'table')} are in ${to}: as TABLE.jsonl, and together in taskgate.db`,
    ...hurt.map(describeLoss),
    databaseUrl === ''
      ? `to go on with it: stop the gateway, then "taskgate restore-copy ${to}/taskgate.db" and "taskgate doctor"`
      : `to go on with it: stop the gateway, unset DATABASE_URL, and run "taskgate move-database --data-dir ${to} --to -" with the address of an empty database on its input; then "taskgate doctor" on that`,
  ];
  answer(input, { ok: true, folder: to, tables }, lines.join('\n'));
  return EXIT.ok;
}

const describeLoss = ({ table, rows, gaps, put }: SalvagedTable): string =>
  `${table}: ${pluralize(rows, 'row')} read, ${pluralize(gaps, 'stretch was', 'stretches were')} not readable${put < rows ? `, ${rows - put} only in ${table}.jsonl` : ''}`;
