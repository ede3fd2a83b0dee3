import { join } from 'node:path';
import type { SandboxLimits } from '../../sandbox/index.ts';
import type { Config } from './config-variables.ts';

/** A compiled binary sees its own files under this path. */
const EMBEDDED = '/$bunfs/';

/**
 * The command that starts a sandbox process: this same program. From source it always names
 * `main.ts`. Another script would ignore `__sandbox` and start a gateway that starts a sandbox, and
 * so on for ever.
 */
export function sandboxCommand(): readonly string[] {
  if (import.meta.path.startsWith(EMBEDDED)) return [process.execPath, '__sandbox'];
  return [process.execPath, join(import.meta.dir, '../../main.ts'), '__sandbox'];
}

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
