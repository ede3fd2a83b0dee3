import type { CommandSpec } from './command.ts';

export const dataDir = { type: 'string', value: 'DIR', doc: 'data directory (overrides DATA_DIR)' } as const;

const listener = {
  host: { type: 'string', value: 'HOST', doc: 'address to listen on (overrides HOST)' },
  port: { type: 'string', value: 'PORT', doc: 'port to listen on (overrides PORT)' },
  'data-dir': dataDir,
} as const;

const serviceScope = {
  system: { type: 'boolean', doc: 'of the system (the default for root)' },
  user: { type: 'boolean', doc: 'of your user (the default for others)' },
} as const;

/** Commands that run the gateway, find it, and replace it. */
export const INSTALLATION_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'serve',
    summary: 'run the gateway',
    positionals: [],
    options: listener,
    more: async () => {
      const { describeConfig } = await import('../config/describe-config.ts');
      return `Environment variables:\n\n${describeConfig()}`;
    },
    load: async () => (await import('./commands/serve.ts')).serve,
  },
  {
    name: 'start',
    summary: 'run the gateway and open its panel in the browser (also without a command)',
    positionals: [],
    options: { ...listener, 'no-open': { type: 'boolean', doc: 'open no browser' } },
    more: async () =>
      'Where it runs already, only the panel is opened. No browser is opened in a container, by a service, over SSH or without a desktop.',
    load: async () => (await import('./commands/serve.ts')).start,
  },
  {
    name: 'open',
    summary: 'open the panel of the running gateway in the browser',
    positionals: [],
    options: {
      host: { type: 'string', value: 'HOST', doc: 'address to ask on PostgreSQL (overrides HOST)' },
      port: { type: 'string', value: 'PORT', doc: 'port to ask on PostgreSQL (overrides PORT)' },
      'data-dir': dataDir,
      print: { type: 'boolean', doc: 'only print its address; before the set-up, the link to it' },
    },
    load: async () => (await import('./commands/serve.ts')).openPanel,
  },
  {
    name: 'service install',
    summary: 'run the gateway as a system or user service from now on',
    positionals: [],
    options: {
      ...listener,
      ...serviceScope,
      print: { type: 'boolean', doc: 'only print the file that it would write' },
    },
    more: async () => 'Tells systemd, launchd or the Task Scheduler of Windows.',
    load: async () => (await import('./commands/service.ts')).install,
  },
  {
    name: 'service uninstall',
    summary: 'stop and remove the service; data is kept',
    positionals: [],
    options: serviceScope,
    load: async () => (await import('./commands/service.ts')).uninstall,
  },
  {
    name: 'service status',
    summary: 'show whether the service is running',
    positionals: [],
    options: serviceScope,
    load: async () => (await import('./commands/service.ts')).status,
  },
  {
    name: 'upgrade',
    summary: 'upgrade to a newer, signed release',
    positionals: [],
    options: {
      check: { type: 'boolean', doc: 'only check for a newer release' },
      back: { type: 'boolean', doc: 'go back to the previous executable' },
      'no-backup': { type: 'boolean', doc: 'do not back up first' },
      'data-dir': dataDir,
    },
    more: async () =>
      'Reads the release at UPGRADE_URL, which UPGRADE_PUBLIC_KEY must have signed. The former executable stays beside the new one. --back is refused\n' +
      'where the newer one has changed the database in a way that cannot be taken back.',
    load: async () => (await import('./commands/upgrade.ts')).run,
  },
];
