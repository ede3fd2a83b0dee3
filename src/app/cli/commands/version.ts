import { LATEST_MIGRATION } from '../../../store/index.ts';
import { TARGET, VERSION } from '../../version.ts';
import { answer, type CommandInput, EXIT, type ExitCode } from '../command.ts';

export async function run(input: CommandInput): Promise<ExitCode> {
  const platform = TARGET === '' ? {} : { target: TARGET };
  answer(
    input,
    { name: 'taskgate', version: VERSION, ...platform, database: LATEST_MIGRATION, runtime: `bun ${Bun.version}` },
    `taskgate ${VERSION}`,
  );
  return EXIT.ok;
}
