import { resolve } from 'node:path';
import { pluralize, systemClock } from '../../../kernel/index.ts';
import { type SalvagedTable, salvagePostgres, salvageSqlite } from '../../../store/index.ts';
import { answer, type CommandInput, EXIT, type ExitCode, option } from '../command.ts';
import { readSettings } from '../read-settings.ts';

/** Exports what can be read of a damaged database; exit 0 also where rows are lost. */
export async function run(input: CommandInput): Promise<ExitCode> {
  // Before the folder of the command may change.
  const to = resolve(option(input, 'to') ?? '');
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
