import { existsSync } from 'node:fs';
import { type CommandInput, option, UsageError } from './command.ts';

/** The fixture of a plugin file: `--fixture`, else `acme.fixture.json` beside `acme.js`. */
export function fixtureFileOf(input: CommandInput, file: string, command: string): string {
  const given = option(input, 'fixture');
  if (given !== undefined) return given;
  const beside = `${file.replace(/\.m?js$/, '')}.fixture.json`;
  if (existsSync(beside)) return beside;
  throw new UsageError(`there is no ${beside}: name the file with the cases with --fixture FIXTURE`, command);
}
