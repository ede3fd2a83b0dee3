import { silentLogger, systemClock } from '../../../kernel/index.ts';
import { findStartProblems } from '../../../operations/start/find-start-problems.ts';
import { prepareDataDir } from '../../../operations/start/prepare-data-dir.ts';
import { migrateStore } from '../../../store/index.ts';
import type { Config } from '../../config/config-variables.ts';
import { answer, type CommandInput, EXIT, type ExitCode } from '../command.ts';
import { readSettings } from '../read-settings.ts';

/**
 * Runs the pending migrations, or with `--dry-run` lists them and what would stop a start. A
 * gateway also migrates when it starts.
 */
export async function run(input: CommandInput): Promise<ExitCode> {
  const { config } = readSettings(input);
  if (input.values['dry-run'] === true) return list(input, config);
  const migrations = await migrateStore({
    databaseUrl: config.databaseUrl,
    dataDir: config.databaseUrl === '' ? prepareDataDir(config.dataDir).path : config.dataDir,
    synchronous: config.sqliteSynchronous,
    clock: systemClock,
    logger: silentLogger,
  });
  answer(input, { ok: true, dry_run: false, migrations }, describe('ran', migrations));
  return EXIT.ok;
}

async function list(input: CommandInput, config: Config): Promise<ExitCode> {
  const { migrations, problems } = await findStartProblems(config);
  const ok = problems.length === 0;
  const text = ok
    ? describe('would run', migrations)
    : `a gateway would not start:\n${problems.map((problem) => `  ${problem}`).join('\n')}`;
  answer(input, { ok, dry_run: true, migrations, problems }, text);
  return ok ? EXIT.ok : EXIT.failed;
}

const describe = (what: string, names: readonly string[]): string =>
  names.length === 0 ? 'the database is up to date' : `${what}: ${names.join(', ')}`;
