import { existsSync } from 'node:fs';
import { type CommandInput, option, UsageError } from './command.ts';

/** `acme.fixture.json` for `acme.js`. */
export const fixtureBeside = (file: string): string => `${file.replace(/\.(?:m?js|ts)$/, '')}.fixture.json`;

/** The fixture of a plugin file: `--fixture`, else `acme.fixture.json` beside `acme.js`. */
export function findFixtureFile(input: CommandInput, file: string, command: string): string {
  const given = option(input, 'fixture');
  if (given !== undefined) return given;
  const beside = fixtureBeside(file);
  if (existsSync(beside)) return beside;
  throw new UsageError(`there is no ${beside}: name the file with the cases with --fixture FIXTURE`, command);
}
