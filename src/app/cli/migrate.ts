import { silentLogger, systemClock } from '../../kernel/index.ts';
import { migrateStore } from '../../store/index.ts';
import { prepareDataDir } from '../prepare-data-dir.ts';
import { answer, type CommandInput, EXIT, type ExitCode } from './command.ts';
import { readSettings } from './read-settings.ts';

/** Runs the migrations that the database lacks, or lists them. A gateway does the same at its start. */
export async function run(input: CommandInput): Promise<ExitCode> {
  const { config } = readSettings(input);
  const dryRun = input.values['dry-run'] === true;
  const dataDir = config.databaseUrl === '' && !dryRun ? prepareDataDir(config.dataDir).path : config.dataDir;
  const names = await migrateStore({
    databaseUrl: config.databaseUrl,
    dataDir,
    synchronous: config.sqliteSynchronous,
    clock: systemClock,
    logger: silentLogger,
    dryRun,
  });
  const text =
    names.length === 0 ? 'the database is up to date' : `${dryRun ? 'would run' : 'has run'}: ${names.join(', ')}`;
  answer(input, { ok: true, dry_run: dryRun, migrations: names }, text);
  return EXIT.ok;
}
