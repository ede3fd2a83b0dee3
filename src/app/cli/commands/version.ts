import { VERSION } from '../../version.ts';
import { answer, type CommandInput, EXIT, type ExitCode } from '../command.ts';

export async function run(input: CommandInput): Promise<ExitCode> {
  answer(input, { name: 'taskgate', version: VERSION, runtime: `bun ${Bun.version}` }, `taskgate ${VERSION}`);
  return EXIT.ok;
}
