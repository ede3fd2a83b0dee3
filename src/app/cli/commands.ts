import { CLIENT_COMMANDS } from './client-commands.ts';
import type { CommandSpec } from './command.ts';
import { DATA_COMMANDS } from './data-commands.ts';
import { dataDir, INSTALLATION_COMMANDS } from './installation-commands.ts';

export type { CommandSpec } from './command.ts';

const account = {
  username: { type: 'string', value: 'NAME', doc: 'username of the account', required: true },
  'password-stdin': { type: 'boolean', doc: 'read the password from standard input', required: true },
  'data-dir': dataDir,
} as const;

const person = {
  username: { type: 'string', value: 'NAME', doc: 'username or email address of the account' },
  id: { type: 'string', value: 'N', doc: 'number of the account, instead of its name' },
  'data-dir': dataDir,
} as const;

const fixture = {
  type: 'string',
  value: 'FIXTURE',
  doc: 'JSON file with the cases (default: FILE with .fixture.json for .js)',
} as const;

const baseUrl = {
  type: 'string',
  value: 'URL',
  doc: 'address of a real vendor (default: the built-in demo vendor)',
} as const;
const price = {
  type: 'string',
  value: 'EXPR',
  doc: 'price of its models in USD, such as 0.01*u("seconds") (default: free, and hooks for facts are not called)',
} as const;
const keyStdin = {
  type: 'boolean',
  doc: "read the vendor's key from standard input (default: ask at the terminal)",
} as const;

const backupFrom = {
  type: 'string',
  value: 'PLACE',
  doc: 'folder or s3://… with the backups (default: BACKUP_TO)',
} as const;
const backupId = { type: 'string', value: 'ID', doc: 'which backup (default: the newest)' } as const;
const passphraseFile = { type: 'string', value: 'FILE', doc: 'file whose first line is the passphrase' } as const;
const identity = { type: 'string', value: 'FILE', doc: 'file with the secret key of age' } as const;

/** Every command of the command line: those of this file and of the other groups. */
export const COMMANDS: readonly CommandSpec[] = [
  ...INSTALLATION_COMMANDS,
  ...CLIENT_COMMANDS,
  {
    name: 'plugin new',
    summary: 'write a plugin to start from, with types and a fixture',
    positionals: ['NAME'],
    options: {
      dir: { type: 'string', value: 'DIR', doc: 'folder to write into, created if absent (default: the current one)' },
      typescript: { type: 'boolean', doc: 'write KEY.ts, tsconfig.json and package.json instead of KEY.js' },
    },
    more: async () =>
      'Writes KEY.js, KEY.fixture.json, jsconfig.json and the folder taskgate-plugin-types, and overwrites nothing. NAME is the display name; the key is\n' +
      'derived from it: "Paper Films" gives paper-films.',
    load: async () => (await import('./commands/author-plugin.ts')).writePlugin,
  },
  {
    name: 'plugin lint',
    summary: 'check plugin files',
    positionals: ['FILE...'],
    options: {
      'strict-v1': { type: 'boolean', doc: 'refuse what hosts of the first version of the contract would refuse' },
    },
    load: async () => (await import('./commands/author-plugin.ts')).lintPlugins,
  },
  {
    name: 'plugin test',
    summary: "run a plugin's fixture cases",
    positionals: ['FILE'],
    options: {
      fixture,
      filter: { type: 'string', value: 'TEXT', doc: 'only cases with TEXT in their name' },
      watch: {
        type: 'boolean',
        doc: 'run again whenever one of the files is saved; Ctrl-C ends with the last verdict',
      },
      update: { type: 'boolean', doc: 'write the results of cases without expectation into the fixture' },
    },
    more: async () =>
      'A case has "expected", which must equal the result as JSON, or "expectedError", a part of the message; with neither the hook must only not throw.\n' +
      '--update adds "expected" to the latter and changes nothing else: no existing expectation, no formatting. It never writes "expectedError":\n' +
      'a case that throws fails until you expect the error. It does not write a result that differs each time.',
    load: async () => (await import('./commands/test-plugin.ts')).testPlugin,
  },
  {
    name: 'plugin build',
    summary: 'bundle a plugin in TypeScript into the one file to upload',
    positionals: ['FILE.ts'],
    options: {
      out: { type: 'string', value: 'FILE', doc: 'where to write it (default: FILE with .js for .ts)' },
    },
    more: async () =>
      'The file and what it imports become one module; the same files give the same text. Nothing is written while the plugin has faults. Types are\n' +
      'checked by your editor or by tsc. The other commands for plugins take a file of TypeScript as it is.',
    load: async () => (await import('./commands/author-plugin.ts')).buildPlugin,
  },
  {
    name: 'plugin bench',
    summary: "measure a plugin's hooks with its fixture cases",
    positionals: ['FILE'],
    options: {
      fixture,
      seconds: { type: 'string', value: 'N', doc: 'how long to measure, all hooks together (default 3)' },
    },
    more: async () =>
      'Results are not compared. Exit code 1: a case exceeded the limit of a call, or could not be run.',
    load: async () => (await import('./commands/test-plugin.ts')).measurePlugin,
  },
  {
    name: 'plugin dev',
    summary: 'run a plugin in its own gateway, reloaded on save',
    positionals: ['FILE'],
    options: {
      port: { type: 'string', value: 'PORT', doc: 'port to listen on, on loopback (default 4020; 0 takes a free one)' },
      'base-url': baseUrl,
      'key-stdin': keyStdin,
      price,
      'user-quota': {
        type: 'string',
        value: 'N',
        doc: 'what the account has to spend; 500000 is 1 USD (default with --price: 500000000)',
      },
      record: { type: 'string', value: 'FIXTURE', doc: 'add real exchanges to this fixture as cases' },
      'data-dir': {
        type: 'string',
        value: 'DIR',
        doc: 'keep account, API key and tasks there (default: a temporary folder)',
      },
    },
    more: async () =>
      'Prints an API key, a command that submits a task, and every hook call: arguments and result, shortened and without credentials; the address after\n' +
      '"Calls" shows them in a browser, with what their task costs. Source with faults\n' +
      'is not served: the last valid one keeps serving. Reads nothing from the environment.\n\n' +
      '--record removes credentials and tokens from the arguments first; "expected" is the result for those arguments. A new file freezes the clock\n' +
      'with "unixNow"; in a file without it, a result that depends on time or randomness is recorded without "expected".',
    load: async () => (await import('./commands/dev-plugin.ts')).run,
  },
  {
    name: 'plugin record',
    summary: 'run one task and add its hook calls to the fixture of a plugin',
    positionals: ['FILE'],
    options: {
      fixture,
      request: { type: 'string', value: 'JSON', doc: 'body of the request (default: a prompt)' },
      price,
      'base-url': baseUrl,
      'key-stdin': keyStdin,
    },
    more: async () =>
      'Submits the request to POST /v1/videos if the plugin claims it, else to POST /v1/tasks/KEY, waits for the end, and reads task and results. Ctrl-C\n' +
      'ends earlier and keeps what was recorded. Credentials and tokens are removed. Recorded cases that no longer fit are replaced; cases that you wrote\n' +
      'are not touched. The fixture is created if it is absent.',
    load: async () => (await import('./commands/record-plugin.ts')).run,
  },
  {
    name: 'marketplace build',
    summary: 'write the index of a folder of plugins',
    positionals: ['DIR'],
    options: {
      name: {
        type: 'string',
        value: 'NAME',
        doc: 'name of the marketplace (default: as before, else that of the folder)',
      },
      out: {
        type: 'string',
        value: 'FILE',
        doc: 'where to write it (default DIR/index.json); its paths are relative to it',
      },
      sign: { type: 'string', value: 'KEYFILE', doc: 'sign it with this secret key, as FILE.minisig beside it' },
      days: { type: 'string', value: 'N', doc: 'how long a signed index is valid (default 90)' },
      'hand-over': {
        type: 'string',
        value: 'KEYFILE',
        doc: 'the secret key until now: it names the new one in FILE.handover, so that gateways follow',
      },
      revoked: {
        type: 'string',
        value: 'FILE',
        doc: 'versions to revoke: {"KEY@VERSION": "reason"}, null to offer one again; others stay as before',
      },
    },
    more: async () =>
      'Plugins are at DIR/KEY/VERSION.js or DIR/*.js, logos beside the latest version as KEY.svg or KEY.png. The same folder gives the same index.\n' +
      'A version in the index cannot get another source. Nothing is written while a plugin has a fault. A signed index that has half of its days left\n' +
      'is written again when something changes; before its end, run the command again. Without a terminal, passwords of keys are lines of standard input.',
    load: async () => (await import('./commands/marketplace.ts')).buildMarketplace,
  },
  {
    name: 'marketplace keygen',
    summary: 'create a key pair that signs a marketplace',
    positionals: ['NAME'],
    options: { 'no-password': { type: 'boolean', doc: 'do not encrypt the secret key' } },
    more: async () =>
      'Writes NAME.key, the secret key, and NAME.pub in the form of minisign, and overwrites nothing. Without a terminal, the password is the first line\n' +
      'of standard input.',
    load: async () => (await import('./commands/marketplace.ts')).createMarketplaceKeys,
  },
  {
    name: 'marketplace check',
    summary: 'compare the index of a folder with its files',
    positionals: ['DIR'],
    options: {
      'public-key': { type: 'string', value: 'KEY', doc: 'check the signature too: a public key, or the file of one' },
    },
    load: async () => (await import('./commands/marketplace.ts')).checkMarketplace,
  },
  {
    name: 'admin create-root',
    summary: 'create the first administrator',
    positionals: [],
    options: account,
    load: async () => (await import('./commands/accounts.ts')).createRoot,
  },
  {
    name: 'admin reset-password',
    summary: "set an account's password and end its sessions",
    positionals: [],
    options: {
      ...account,
      'reset-factors': {
        type: 'boolean',
        doc: 'remove two-factor, backup codes, passkeys, the personal access token, bound identities and the email address as well: for a lost authenticator or a stolen account',
      },
    },
    load: async () => (await import('./commands/accounts.ts')).resetPassword,
  },
  {
    name: 'admin export-user',
    summary: 'write all data of an account as JSON to standard output',
    positionals: [],
    options: person,
    load: async () => (await import('./commands/accounts.ts')).exportAccount,
  },
  {
    name: 'admin erase-user',
    summary: 'delete an account and erase its data; a gateway may be running',
    positionals: [],
    options: { ...person, yes: { type: 'boolean', doc: 'confirm: this cannot be undone', required: true } },
    more: async () =>
      'Bills, ledger and usage stay, under the number of the account. Tasks that still run are erased after their end, and files of kept results, by the\n' +
      'gateway. Root cannot be erased. An account that was deleted before is named by --id.',
    load: async () => (await import('./commands/accounts.ts')).eraseAccount,
  },
  {
    name: 'migrate',
    summary: 'migrate the database to this version',
    positionals: [],
    options: {
      'dry-run': { type: 'boolean', doc: 'only list the migrations, and what would stop a start' },
      'data-dir': dataDir,
    },
    load: async () => (await import('./commands/database.ts')).migrate,
  },
  {
    name: 'results accept-folder',
    summary: 'accept the configured folder or bucket of results, even if it is new and empty',
    positionals: [],
    options: { 'data-dir': dataDir },
    load: async () => (await import('./commands/accept-folder.ts')).run,
  },
  {
    name: 'backup create',
    summary: 'make and verify a backup; a gateway may be running',
    positionals: [],
    options: {
      to: { type: 'string', value: 'PLACE', doc: 'folder or s3://… (default: BACKUP_TO)' },
      'passphrase-file': passphraseFile,
      recipients: {
        type: 'string',
        value: 'KEYS',
        doc: 'public keys of age, comma-separated, instead of a passphrase',
      },
      'without-secrets': { type: 'boolean', doc: 'leave the secrets out' },
      'accept-folder': {
        type: 'boolean',
        doc: 'accept a folder that lacks the earlier backups, such as a new disk',
      },
      schedule: {
        type: 'boolean',
        doc: "make the day's backup unless it was made, and remove old ones, as the gateway does",
      },
      'data-dir': dataDir,
    },
    more: async () =>
      'Contains the database, the secrets (sealed) and the files of kept results, each only once in a location. Without an option and\n' +
      'BACKUP_PASSPHRASE, BACKUP_PASSPHRASE_FILE or BACKUP_RECIPIENTS it asks for a passphrase at the terminal. SQLite needs free space for a copy of the\n' +
      'database in the data directory; PostgreSQL needs pg_dump.',
    load: async () => (await import('./commands/backups.ts')).create,
  },
  {
    name: 'backup list',
    summary: 'list backups',
    positionals: [],
    options: { from: backupFrom, 'data-dir': dataDir },
    load: async () => (await import('./commands/backups.ts')).list,
  },
  {
    name: 'backup verify',
    summary: 'read a whole backup: digests, database, ledger',
    positionals: [],
    options: {
      from: backupFrom,
      id: backupId,
      results: { type: 'boolean', doc: 'read the files of kept results too, not only their sizes' },
      'passphrase-file': passphraseFile,
      identity,
      'data-dir': dataDir,
    },
    load: async () => (await import('./commands/backups.ts')).verify,
  },
  {
    name: 'backup restore',
    summary: 'restore a backup into an empty data directory or database',
    positionals: [],
    options: {
      from: backupFrom,
      id: backupId,
      'passphrase-file': passphraseFile,
      identity,
      'without-secrets': { type: 'boolean', doc: 'restore without the secrets' },
      'data-dir': dataDir,
    },
    load: async () => (await import('./commands/backups.ts')).restore,
  },
  ...DATA_COMMANDS,
  {
    name: 'healthcheck',
    summary: 'ask a running gateway whether it is ready',
    positionals: [],
    options: {
      host: { type: 'string', value: 'HOST', doc: 'address to ask (overrides HOST)' },
      port: { type: 'string', value: 'PORT', doc: 'port to ask (overrides PORT)' },
      wait: { type: 'string', value: 'SECONDS', doc: 'how long to wait until it is ready (default 0)' },
    },
    load: async () => (await import('./commands/healthcheck.ts')).run,
  },
  {
    name: 'doctor',
    summary: 'check database, ledger, secrets and folders; a gateway may be running',
    positionals: ['[CHANNEL]'],
    options: {
      'data-dir': dataDir,
      results: { type: 'boolean', doc: 'also compare the files of kept results with the database' },
      network: {
        type: 'boolean',
        doc: 'also go the way to the vendor of each enabled channel, or of CHANNEL (its id)',
      },
      verify: { type: 'boolean', doc: 'with --results: read each file and compare its digest' },
      data: {
        type: 'boolean',
        doc: 'only check pages, indexes and the ledger, table by table with rests between them, as the gateway does each week',
      },
    },
    load: async () => (await import('./commands/doctor.ts')).run,
  },
  {
    name: 'demo-vendor',
    summary: 'run an offline vendor to try the gateway with',
    positionals: [],
    options: {
      port: { type: 'string', value: 'PORT', doc: 'port to listen on (default 4010)' },
      strict: { type: 'boolean', doc: 'one with signed requests, creation in two steps and links that expire' },
    },
    load: async () => (await import('./commands/demo-vendor.ts')).run,
  },
  {
    name: 'version',
    summary: 'print the version',
    positionals: [],
    options: {},
    load: async () => (await import('./commands/upgrade.ts')).showVersion,
  },
];
