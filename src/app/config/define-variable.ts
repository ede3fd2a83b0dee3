import type { ValueKind } from './config-kinds.ts';

export const CONFIG_GROUPS = {
  server: 'Server',
  storage: 'Database and cache',
  network: 'Outbound network',
  secrets: 'Secrets',
  sessions: 'Panel sessions',
  limits: 'Rate limits',
  tasks: 'Tasks and polling',
  webhooks: 'Webhooks',
  artifacts: 'Files and artifacts',
  backup: 'Backups',
  traces: 'Traces',
  marketplace: 'Plugin marketplace',
  sandbox: 'Plugin sandbox',
} as const;

export type ConfigGroup = keyof typeof CONFIG_GROUPS;

export type Variable<T> = {
  /** Name of the environment variable. */
  env: string;
  group: ConfigGroup;
  /** One or two sentences for `serve --help` and docs/configuration.md. */
  doc: string;
  kind: ValueKind<T>;
  default: NoInfer<T>;
  /** Describes the default in the tables if its value does not. */
  defaultText?: string;
  /** Its value never appears in a message. */
  secret?: true;
  /** An invalid value falls back to the default with a warning; it does not stop the start. */
  fallback?: true;
};

/** Infers the type from `kind`; the default must fit it. */
export const variable = <T>(definition: Variable<T>): Variable<T> => definition;
