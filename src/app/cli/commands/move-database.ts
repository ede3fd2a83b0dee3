import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { OperatorError, pluralize, silentLogger, systemClock } from '../../../kernel/index.ts';
import { SECRETS_FILE } from '../../../operations/secrets/load-secrets.ts';
import { moveDatabase } from '../../../store/index.ts';
import { answer, type CommandInput, EXIT, type ExitCode, option, UsageError } from '../command.ts';
import { readSettings } from '../read-settings.ts';
import { requireDatabase } from '../require-database.ts';

const POSTGRES = /^postgres(?:ql)?:\/\//i;

/** Moves everything into another database; the gateway must be stopped. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const given = option(input, 'to') ?? '';
  // An address has a password, which the list of processes would show.
  const text = given === '-' ? (await input.io.readStdin()).trim() : given;
  if (text === '') throw new UsageError('--to is empty', 'move-database');
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
    ...nextSteps(from, to),
  ];
  answer(input, { ok: true, resumed, tables }, lines.join('\n'));
  return EXIT.ok;
}

type Place = { databaseUrl: string; dataDir: string };

function nextSteps(from: Place, to: Place): string[] {
  const secrets = join(from.dataDir, SECRETS_FILE);
  if (to.databaseUrl !== '')
    return [
      'set DATABASE_URL to it, keep DATA_DIR as it is (kept results are there), and start the gateway',
      ...(existsSync(secrets)
        ? [
            `set SESSION_SECRET and CRYPTO_SECRET to the values in ${secrets}: on PostgreSQL they belong into the environment`,
          ]
        : []),
    ];
  return [
    `remove DATABASE_URL, set DATA_DIR to ${to.dataDir}, keep SESSION_SECRET and CRYPTO_SECRET in the environment, and start the gateway`,
    'kept results stay where they are: name their folder by RESULTS_URL, or move the folder "results" along',
  ];
}
