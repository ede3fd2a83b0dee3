import { readFileSync } from 'node:fs';
import { silentLogger, systemClock, unreadable } from '../../kernel/index.ts';
import { createSandbox, type Sandbox, type SandboxLimits } from '../../sandbox/index.ts';
import { readConfig } from '../config/config.ts';
import { sandboxCommand, sandboxLimits } from '../config/sandbox-settings.ts';

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
