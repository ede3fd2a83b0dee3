import type { SandboxLimits } from '../sandbox/index.ts';
import type { Config } from './config-variables.ts';

/** A compiled binary sees its own files under this path. */
const EMBEDDED = '/$bunfs/';

/** The command that starts a sandbox process: this same program. */
export function sandboxCommand(): readonly string[] {
  const main = Bun.main;
  return main.startsWith(EMBEDDED) ? [process.execPath, '__sandbox'] : [process.execPath, main, '__sandbox'];
}

export type SandboxSettings = Pick<
  Config,
  | 'sandboxProcesses'
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
