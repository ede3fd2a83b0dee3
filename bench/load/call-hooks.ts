/**
 * Hook calls through the sandbox of one checkout and its executable: `bun bench/load/call-hooks.ts
 * CHECKOUT EXECUTABLE SECONDS`. A process of its own, with the checkout's own code on the parent's
 * side, since both sides of the sandbox change together. Prints figures as JSON.
 */
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import type * as kernel from '../../src/kernel/index.ts';
import type * as sandboxRoom from '../../src/sandbox/index.ts';
import { percentile } from '../figures.ts';
import { HOOK_CASES, type HookCase, type HookFigures, hookSource } from './hook-cases.ts';

const WARM_UP = 2_000;
const IN_FLIGHT = 32;
const MEBIBYTE = 1024 * 1024;

const [checkout = '', binary = '', seconds = '5'] = process.argv.slice(2);
const { sha256Hex, silentLogger, systemClock } = (await import(join(checkout, 'src/kernel/index.ts'))) as typeof kernel;
const { createSandbox } = (await import(join(checkout, 'src/sandbox/index.ts'))) as typeof sandboxRoom;

const plugin = { key: 'bench', version: '1.0.0', source: hookSource, sourceHash: sha256Hex(hookSource) };
const sandbox = createSandbox({
  command: [binary, '__sandbox'],
  clock: systemClock,
  logger: silentLogger,
  limits: {
    processes: 2,
    idleMs: 600_000,
    callTimeoutMs: 5_000,
    killGraceMs: 250,
    memoryBytes: 128 * MEBIBYTE,
    sourceBytes: MEBIBYTE,
    consoleBytes: 16_384,
    callsPerPlugin: 8,
    killsToSuspend: 5,
    killWindowMs: 600_000,
    suspendMs: 300_000,
  },
});

async function measure({ path, args }: HookCase): Promise<HookFigures> {
  const call = async () => {
    const outcome = await sandbox.call(plugin, {
      owner: 'user:1',
      path,
      args,
      maxArgsBytes: MEBIBYTE,
      maxResultBytes: MEBIBYTE,
    });
    if (!outcome.ok) throw new Error(outcome.error.message);
  };
  for (let i = 0; i < WARM_UP; i += 1) await call();
  const times: number[] = [];
  const half = (Number(seconds) * 1000) / 2;
  for (const end = performance.now() + half; performance.now() < end; ) {
    const started = performance.now();
    await call();
    times.push((performance.now() - started) * 1000);
  }
  let calls = 0;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: IN_FLIGHT }, async () => {
      while (performance.now() < started + half) {
        await call();
        calls += 1;
      }
    }),
  );
  return {
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
    perSecond: (calls / (performance.now() - started)) * 1000,
  };
}

try {
  await sandbox.ready();
  const figures: Record<string, HookFigures> = {};
  for (const [name, hook] of Object.entries(HOOK_CASES)) figures[name] = await measure(hook);
  process.stdout.write(JSON.stringify(figures));
} finally {
  await sandbox.close();
}
