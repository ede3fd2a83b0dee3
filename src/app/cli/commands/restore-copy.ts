import { existsSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';
import { OperatorError, systemClock } from '../../../kernel/index.ts';
import { prepareDataDir } from '../../../operations/start/prepare-data-dir.ts';
import { replaceSqlite } from '../../../store/index.ts';
import { answer, type CommandInput, EXIT, type ExitCode } from '../command.ts';
import { readSettings } from '../read-settings.ts';
import { noDatabaseIn } from '../require-database.ts';

const OF_A_GATEWAY = ['taskgate.db', 'taskgate.lock', 'secrets.json'];

/** Puts a copy of the SQLite database into its place; the gateway must be stopped. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const [given = ''] = input.positionals;
  // Before the folder of the command may change.
  const file = isAbsolute(given) ? given : resolve(given);
  const { config } = readSettings(input, { needsSecrets: false });
  if (config.databaseUrl !== '') {
    throw new OperatorError('DATABASE_URL is set: a copy takes the place of a SQLite database, and of no other');
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
