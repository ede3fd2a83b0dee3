import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Clock, type Result, sha256Hex, silentLogger, systemClock } from '../../src/kernel/index.ts';
import {
  createSandbox,
  type HookCall,
  type Sandbox,
  type SandboxFailure,
  type SandboxLimits,
  type SandboxModule,
} from '../../src/sandbox/index.ts';
import { FAR_MS } from '../support/far-limits.ts';

export { until } from '../support/until.ts';

export const MEBIBYTE = 1024 * 1024;

export const defaultLimits: SandboxLimits = {
  processes: 2,
  idleMs: 600_000,
  callTimeoutMs: FAR_MS,
  killGraceMs: 250,
  memoryBytes: 128 * MEBIBYTE,
  sourceBytes: MEBIBYTE,
  consoleBytes: 16_384,
  callsPerPlugin: 8,
  killsToSuspend: 1_000,
  killWindowMs: 600_000,
  suspendMs: 300_000,
};

export const mainProgram = [process.execPath, join(import.meta.dir, '../../src/main.ts'), '__sandbox'];

export function startSandbox(
  limits: Partial<SandboxLimits> = {},
  clock: Clock = systemClock,
  command: string[] = mainProgram,
): Sandbox {
  return createSandbox({ limits: { ...defaultLimits, ...limits }, command, clock, logger: silentLogger });
}

export function plugin(source: string, key = 'plugin'): SandboxModule {
  return { key, version: '1.0.0', source, sourceHash: sha256Hex(source) };
}

export function hook(name: string, args: readonly unknown[] = [], options: Partial<HookCall> = {}): HookCall {
  return { owner: 'user:1', path: name.split('.'), args, maxArgsBytes: MEBIBYTE, maxResultBytes: MEBIBYTE, ...options };
}

/** The value of a call that is expected to succeed. */
export async function readResult(sandbox: Sandbox, module: SandboxModule, call: HookCall): Promise<unknown> {
  const outcome = await sandbox.call(module, call);
  if (!outcome.ok) throw new Error(`${outcome.error.kind}: ${outcome.error.message}`);
  return outcome.value.value;
}

/** The failure of a call that is expected to fail. */
export async function catchFailure(outcome: Promise<Result<unknown, SandboxFailure>>): Promise<SandboxFailure> {
  const result = await outcome;
  if (result.ok) throw new Error(`succeeded with ${JSON.stringify(result.value)}`);
  return result.error;
}

/** Sandbox processes whose parent is `parent`. */
export function listChildren(parent: number): number[] {
  const listed = Bun.spawnSync(['ps', '-o', 'pid=,args=', '--ppid', String(parent)]).stdout.toString();
  return listed
    .split('\n')
    .filter((line) => line.includes('__sandbox'))
    .map((line) => Number(line.trim().split(' ')[0]));
}

export function residentBytes(pid: number | 'self'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) * 1024;
}
