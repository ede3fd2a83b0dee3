import type { CommandSpec } from './command.ts';
import { dataDir } from './installation-commands.ts';

/** Commands that rewrite what is stored, or compare it with others' lists. */
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
    load: async () => (await import('./commands/import-new-api.ts')).run,
  },
  {
    name: 'move-database',
    summary: 'move everything from SQLite to PostgreSQL or back; the gateway must be stopped',
    positionals: [],
    options: {
      to: {
        type: 'string',
        value: 'PLACE',
        doc: 'postgres://…, or a data directory ("-": read it from standard input, since an address has a password)',
        required: true,
      },
      'data-dir': dataDir,
    },
    more: async () =>
      'Moves the database of DATABASE_URL, or of the data directory, into an empty one. Counts, the sums of every wallet and digests of all rows are\n' +
      'compared before the former database is closed for good. A run that was ended goes on when it is started again. Tasks that run or wait go on.',
    load: async () => (await import('./commands/database.ts')).moveToOther,
  },
  {
    name: 'restore-copy',
    summary: 'put a copy of the SQLite database into its place; the gateway must be stopped',
    positionals: ['FILE'],
    options: { 'data-dir': dataDir },
    more: async () =>
      'FILE is a copy that an upgrade has made (taskgate.db.before-…), or another whole copy of the database of this version or an earlier one.\n' +
      'The database that it replaces is kept beside it, with its log. What happened after the copy was made is in that one alone.',
    load: async () => (await import('./commands/database.ts')).restoreCopy,
  },
  {
    name: 'salvage',
    summary: 'export what can be read of a damaged database, which stays as it is',
    positionals: [],
    options: {
      to: { type: 'string', value: 'DIR', doc: 'new or empty folder to write into', required: true },
      'data-dir': dataDir,
    },
    more: async () =>
      'Writes each table as TABLE.jsonl, one row a line, and all of them into a new database, DIR/taskgate.db, that restore-copy takes, and of PostgreSQL\n' +
      'move-database. Needs space for three copies of the database. Restore the newest backup where what came after it can be done without: salvaged rows may miss others.',
    load: async () => (await import('./commands/database.ts')).salvage,
  },
  {
    name: 'maintenance',
    summary: 'close the gateway for new submissions, or take one node of several out of service',
    positionals: ['STATE', '[NODE]'],
    options: {
      message: { type: 'string', value: 'TEXT', doc: 'with on: what clients are told' },
      'data-dir': dataDir,
    },
    more: async () =>
      'STATE is on, off, status, drain or resume. While it is on, clients get 503 with the message and Retry-After; tasks that run or wait go on, and results can be read.\n' +
      'drain NODE takes one node of several out of service: its /readyz answers 503, and load balancers send requests to the others. NODE is an id or a host name of status.\n' +
      'It serves again when it is started again, or by resume NODE. The panel has the switch under Settings, Maintenance, and the nodes under System.',
    load: async () => (await import('./commands/maintenance.ts')).run,
  },
  {
    name: 'reconcile',
    summary: "compare a vendor's list of jobs with the tasks of a channel; a gateway may be running",
    positionals: [],
    options: {
      'vendor-csv': { type: 'string', value: 'FILE', doc: "the vendor's export, with a heading", required: true },
      channel: { type: 'string', value: 'ID', doc: 'the channel whose account it is of', required: true },
      since: { type: 'string', value: 'DAY', doc: 'only tasks created on this day of UTC or later, as 2026-11-01' },
      until: { type: 'string', value: 'DAY', doc: 'only tasks created on this day of UTC or earlier' },
      'id-column': {
        type: 'string',
        value: 'NAME',
        doc: 'column with the id of the job (default: task_id, job_id, … or id)',
      },
      'cost-column': {
        type: 'string',
        value: 'NAME',
        doc: 'column with what it cost (default: cost, amount, … if there)',
      },
      'data-dir': dataDir,
    },
    more: async () =>
      'Names jobs that only the vendor has, jobs that it bills although their tasks failed here and were refunded, jobs that it lists twice, and jobs that\n' +
      'only the gateway has. Exit code 1: there are some.',
    load: async () => (await import('./commands/reconcile.ts')).run,
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
    load: async () => (await import('./commands/rotate-secrets.ts')).run,
  },
];
