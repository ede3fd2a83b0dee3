import { readFileSync } from 'node:fs';
import { silentLogger, systemClock } from '../../kernel/index.ts';
import { createSandbox, type Sandbox } from '../../sandbox/index.ts';
import { readConfig } from '../config.ts';
import { sandboxCommand, sandboxLimits } from '../sandbox-settings.ts';
import { CommandError } from './command.ts';

/** Runs `work` with a sandbox of one process under the default limits: an author's machine needs no configuration. */
export async function withSandbox<T>(work: (sandbox: Sandbox) => Promise<T>): Promise<T> {
  const defaults = readConfig({});
  if (!defaults.ok) throw new Error(defaults.faults.join('\n'));
  const limits = { ...sandboxLimits(defaults.config), processes: 1 };
  const sandbox = createSandbox({ limits, command: sandboxCommand(), clock: systemClock, logger: silentLogger });
  try {
    return await work(sandbox);
  } finally {
    await sandbox.close();
  }
}

/** The text of a file that the command line names. Throws `CommandError` when it cannot be read. */
export function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown reason';
    throw new CommandError(`${path} cannot be read (${code})`);
  }
}
