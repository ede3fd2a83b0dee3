import type { CommandSpec } from './command.ts';
import { dataDir } from './installation-commands.ts';

/** Commands that rewrite what is stored. */
export const DATA_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'import new-api',
    summary: 'import the database of a new-api gateway, which is only read',
    positionals: [],
    options: {
      from: {
        type: 'string',
        value: 'DB_URL',
        doc: 'a SQLite file, postgres://… or mysql://… ("-": read it from standard input)',
        required: true,
      },
      'dry-run': { type: 'boolean', doc: 'only read, and say what would be imported' },
      report: { type: 'string', value: 'FILE', doc: 'write all remarks to this file, as JSON' },
      'data-dir': dataDir,
    },
    more: async () =>
      'Takes users with passwords, balances, API keys, identities and second factors, channels, prices and options; names what it cannot take, and why.\n' +
      'Nothing is written before the whole source has been read. A second run changes nothing, and goes on where an earlier one was ended.\n' +
      'Stop new-api first: what happens there afterwards is not imported.',
    load: () => import('./commands/import-new-api.ts'),
  },
  {
    name: 'restore-copy',
    summary: 'put a copy of the SQLite database into its place; the gateway must be stopped',
    positionals: ['FILE'],
    options: { 'data-dir': dataDir },
    more: async () =>
      'FILE is a copy that an upgrade has made (taskgate.db.before-…), or another whole copy of the database of this version or an earlier one.\n' +
      'The database that it replaces is kept beside it, with its log. What happened after the copy was made is in that one alone.',
    load: () => import('./commands/restore-copy.ts'),
  },
  {
    name: 'secrets rotate',
    summary: 're-encrypt stored secrets with the current CRYPTO_SECRET',
    positionals: [],
    options: {
      generate: {
        type: 'boolean',
        doc: 'make new secrets in secrets.json first, and keep the former ones there; the gateway must be stopped',
      },
      'data-dir': dataDir,
    },
    more: async () =>
      'Runs beside nodes that know the current secret and refuses while one does not. A run that was ended goes on when it is started again.\n' +
      'Afterwards no stored value needs CRYPTO_SECRET_PREVIOUS. Links and backup codes from before still do: they are signed, not encrypted.\n' +
      'Exit code 1: no secret opens some values.',
    load: () => import('./commands/rotate-secrets.ts'),
  },
];
