import { existsSync, readFileSync } from 'node:fs';
import { silentLogger, systemClock, unreadable } from '../../kernel/index.ts';
import type { PluginFault } from '../../plugins/index.ts';
import { createSandbox, type Sandbox, type SandboxLimits } from '../../sandbox/index.ts';
import { readConfig } from '../config/config.ts';
import { sandboxCommand, sandboxLimits } from '../config/sandbox-settings.ts';
import { type CommandInput, option, UsageError } from './command.ts';

/** `FILE:LINE:COLUMN` of a failure in the author's file, or an empty text. */
export function placeInFile(plugin: PluginFile, { line, column }: { line?: number; column?: number }): string {
  if (line === undefined) return '';
  const known = { path: 'source', rule: '', message: '', line, ...(column === undefined ? {} : { column }) };
  const { file, fault } = plugin.place(known);
  return [file, fault.line, fault.column].filter((part) => part !== undefined).join(':');
}

/** A plugin as its author wrote it. */
export type PluginFile = {
  /** One JavaScript module, which an upload takes. */
  source: string;
  /** The files that it was made of. */
  files: readonly string[];
  /** A fault of `source` at its place in the author's file. */
  place(fault: PluginFault): { file: string; fault: PluginFault };
  describe(fault: PluginFault, level?: 'fault' | 'warning'): string;
};

/**
 * Reads a plugin file; one of TypeScript is bundled with what it imports.
 *
 * @throws `OperatorError` if it cannot be read or bundled
 */
export async function readPlugin(file: string): Promise<PluginFile> {
  if (!file.endsWith('.ts')) {
    return {
      source: readText(file),
      files: [file],
      place: (fault) => ({ file, fault }),
      describe: (fault, level) => describePluginFault(file, fault, level),
    };
  }
  const { bundlePlugin } = await import('../../plugins/author/bundle-plugin.ts');
  const bundled = await bundlePlugin(file);
  const place = (fault: PluginFault): { file: string; fault: PluginFault } => {
    const { line, column = 1, ...rest } = fault;
    const found = line === undefined ? undefined : bundled.place(line, column);
    if (!found) return { file, fault: rest };
    return { file: found.file, fault: { ...rest, line: found.line, column: found.column } };
  };
  return {
    source: bundled.source,
    files: bundled.files,
    place,
    describe(fault, level) {
      const placed = place(fault);
      return describePluginFault(placed.file, placed.fault, level);
    },
  };
}

/**
 * Formats a fault as compilers do, `plugin.js:12:3: /models: message [rule]`; the hint below it.
 */
export function describePluginFault(file: string, fault: PluginFault, level: 'fault' | 'warning' = 'fault'): string {
  const { path, message, rule, hint, line, column } = fault;
  const position = line === undefined ? '' : `:${line}${column === undefined ? '' : `:${column}`}`;
  const text = `${file}${position}: ${level === 'warning' ? 'warning: ' : ''}${path || 'meta'}: ${message} [${rule}]`;
  return hint ? `${text}\n    ${hint}` : text;
}

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

/**
 * Runs `work` with a sandbox of one process under the default limits, without configuration.
 * Suspension is off: an author who runs a hanging plugin again wants to see it hang again.
 */
export async function withSandbox<T>(work: (sandbox: Sandbox, limits: SandboxLimits) => Promise<T>): Promise<T> {
  const defaults = readConfig({});
  if (!defaults.ok) throw new Error(defaults.faults.join('\n'));
  const limits = { ...sandboxLimits(defaults.config), processes: 1, killsToSuspend: Number.MAX_SAFE_INTEGER };
  const sandbox = createSandbox({ limits, command: sandboxCommand(), clock: systemClock, logger: silentLogger });
  try {
    return await work(sandbox, limits);
  } finally {
    await sandbox.close();
  }
}

/** @throws `OperatorError` if the file cannot be read */
export function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw unreadable(path, error);
  }
}
