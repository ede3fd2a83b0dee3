import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { SandboxLimits } from '../../sandbox/index.ts';
import type { Config } from './config-variables.ts';

/** A compiled binary sees its own files under this path; the second is that of Windows. */
const EMBEDDED = /^(?:\/\$bunfs\/|[A-Z]:[\\/]~BUN[\\/])/;

/** On Linux the executable of this process, also once an upgrade has put another into its place. */
const OWN_EXECUTABLE = '/proc/self/exe';

/**
 * This same program as a command. From source it always names `main.ts`. Another script would
 * ignore the words that follow and start a gateway that starts a sandbox, and so on without end.
 */
export function programCommand(): readonly string[] {
  if (EMBEDDED.test(import.meta.path)) return [existsSync(OWN_EXECUTABLE) ? OWN_EXECUTABLE : process.execPath];
  return [process.execPath, join(import.meta.dir, '../../main.ts')];
}

/** The command that starts a sandbox process. */
export const sandboxCommand = (): readonly string[] => [...programCommand(), '__sandbox'];

export type SandboxSettings = Pick<
  Config,
  | 'sandboxProcesses'
  | 'sandboxIdleSeconds'
  | 'sandboxTimeoutMs'
  | 'sandboxKillGraceMs'
  | 'sandboxMemoryMb'
  | 'sandboxSourceKb'
  | 'sandboxConsoleKb'
  | 'sandboxCallsPerPlugin'
  | 'sandboxKillsToSuspend'
  | 'sandboxKillWindowSeconds'
  | 'sandboxSuspendSeconds'
>;

export const sandboxLimits = (config: SandboxSettings): SandboxLimits => ({
  processes: config.sandboxProcesses,
  idleMs: config.sandboxIdleSeconds * 1000,
  callTimeoutMs: config.sandboxTimeoutMs,
  killGraceMs: config.sandboxKillGraceMs,
  memoryBytes: config.sandboxMemoryMb * 1024 * 1024,
  sourceBytes: config.sandboxSourceKb * 1024,
  consoleBytes: config.sandboxConsoleKb * 1024,
  callsPerPlugin: config.sandboxCallsPerPlugin,
  killsToSuspend: config.sandboxKillsToSuspend,
  killWindowMs: config.sandboxKillWindowSeconds * 1000,
  suspendMs: config.sandboxSuspendSeconds * 1000,
});
