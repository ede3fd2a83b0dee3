import type { CommandModule } from './command.ts';

type OptionSpec = {
  type: 'string' | 'boolean';
  /** Placeholder in the help. */
  value?: string;
  doc: string;
  required?: true;
};

export type CommandSpec = {
  /** The words that call it. */
  name: string;
  summary: string;
  /** Required words after the name. */
  positionals: readonly string[];
  options: Readonly<Record<string, OptionSpec>>;
  /** Further help, loaded only when asked for. */
  more?: () => Promise<string>;
  /** Lazy: a command loads what it needs and nothing of the others. */
  load: () => Promise<CommandModule>;
};

const dataDir = { type: 'string', value: 'DIR', doc: 'data directory (stands above DATA_DIR)' } as const;
const account = {
  username: { type: 'string', value: 'NAME', doc: 'user name of the account', required: true },
  'password-stdin': { type: 'boolean', doc: 'read the password from standard input', required: true },
  'data-dir': dataDir,
} as const;

export const COMMANDS: readonly CommandSpec[] = [
  {
    name: 'serve',
    summary: 'run the gateway',
    positionals: [],
    options: {
      host: { type: 'string', value: 'HOST', doc: 'address to listen on (stands above HOST)' },
      port: { type: 'string', value: 'PORT', doc: 'port to listen on (stands above PORT)' },
      'data-dir': dataDir,
    },
    more: async () => {
      const { describeConfig } = await import('../describe-config.ts');
      return `Environment variables:\n\n${describeConfig()}`;
    },
    load: () => import('./serve.ts'),
  },
  {
    name: 'plugin lint',
    summary: 'check a plugin file',
    positionals: ['FILE'],
    options: {},
    load: () => import('./lint-plugin.ts'),
  },
  {
    name: 'plugin test',
    summary: "run a plugin's fixture cases",
    positionals: ['FILE'],
    options: { fixture: { type: 'string', value: 'FIXTURE', doc: 'JSON file with the cases', required: true } },
    load: () => import('./test-plugin.ts'),
  },
  {
    name: 'admin create-root',
    summary: 'create the first administrator',
    positionals: [],
    options: account,
    load: () => import('./create-root.ts'),
  },
  {
    name: 'admin reset-password',
    summary: "set an account's password and end its sessions",
    positionals: [],
    options: {
      ...account,
      'reset-factors': {
        type: 'boolean',
        doc: 'remove two-factor, backup codes, passkeys, the personal access token, bound identities and the mail address as well: for a lost authenticator or an account that was broken into',
      },
    },
    load: () => import('./reset-password.ts'),
  },
  {
    name: 'migrate',
    summary: 'bring the database to this version',
    positionals: [],
    options: { 'dry-run': { type: 'boolean', doc: 'only list what would be done' }, 'data-dir': dataDir },
    load: () => import('./migrate.ts'),
  },
  {
    name: 'healthcheck',
    summary: 'ask a running gateway whether it is ready',
    positionals: [],
    options: {
      host: { type: 'string', value: 'HOST', doc: 'address to ask (stands above HOST)' },
      port: { type: 'string', value: 'PORT', doc: 'port to ask (stands above PORT)' },
    },
    load: () => import('./healthcheck.ts'),
  },
  {
    name: 'doctor',
    summary: 'check database, ledger, secrets and folders; may run beside a gateway',
    positionals: [],
    options: { 'data-dir': dataDir },
    load: () => import('./doctor.ts'),
  },
  {
    name: 'demo-vendor',
    summary: 'run a vendor to try the gateway with, offline',
    positionals: [],
    options: { port: { type: 'string', value: 'PORT', doc: 'port to listen on (default 4010)' } },
    load: () => import('./demo-vendor.ts'),
  },
  {
    name: 'version',
    summary: 'print the version',
    positionals: [],
    options: {},
    load: () => import('./version.ts'),
  },
];
