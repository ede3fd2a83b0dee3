import { performance } from 'node:perf_hooks';
import { sha256Hex } from '../../src/kernel/index.ts';
import { createGuestCache } from '../../src/sandbox/child/guest-cache.ts';
import { loadEngine } from '../../src/sandbox/child/load-engine.ts';
import { type Figure, higher, lower, percentile, row } from '../figures.ts';
import { HOOK_CASES, type HookFigures, hookSource } from '../load/hook-cases.ts';
import type { Run } from '../part.ts';

const WARM_UP = 2_000;
const CALLS = 5_000;
const MEBIBYTE = 1024 * 1024;

/** Hook calls with fresh state, through a sandbox process of the executable. */
export async function benchHooks({ build, seconds }: Run): Promise<Figure[]> {
  if (build.source === undefined)
    throw new Error('hook calls need the sources of the build beside its executable: give a checkout');
  const script = new URL('../load/call-hooks.ts', import.meta.url).pathname;
  const child = Bun.spawn([process.execPath, script, build.source, build.binary, String(seconds)], {
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [out, complaint, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(`the sandbox could not be called: ${complaint.trim().slice(0, 500)}`);
  const figures = JSON.parse(out) as Record<keyof typeof HOOK_CASES, HookFigures>;
  return [
    ...describe('hook call through the sandbox process, 1.2 KB', figures.request, { p50: 110, p99: 300, rate: 25_000 }),
    ...describe('hook call, 30 KB there', figures.read, {}),
    ...describe('hook call, 30 KB there and back', figures.store, { p50: 600, rate: 3_000 }),
  ];
}

const describe = (what: string, { p50, p99, perSecond }: HookFigures, aims: Record<string, number>): Figure[] =>
  row(what, [lower('p50', p50, 'µs'), lower('p99', p99, 'µs'), higher('32 in flight', perSecond, '/s')], {
    ...aims,
    ...(aims.rate !== undefined && { '32 in flight': aims.rate }),
  });

/** What QuickJS itself takes: the call in this process, without a sandbox process around it. */
export async function benchHookInProcess(): Promise<Figure[]> {
  const guests = createGuestCache(await loadEngine(), () => performance.now());
  const { path, args } = HOOK_CASES.request;
  const text = Buffer.from(JSON.stringify(args));
  const request = {
    id: 1,
    sourceHash: sha256Hex(hookSource),
    owner: 'user:1',
    path,
    maxResultBytes: MEBIBYTE,
    consoleBytes: 16_384,
    memoryBytes: 128 * MEBIBYTE,
    budgetMs: 5_000,
    nowMs: 1_700_000_000_000,
  };
  await guests.run(request, hookSource, text);
  const times: number[] = [];
  for (let i = 0; i < WARM_UP + CALLS; i += 1) {
    const started = performance.now();
    guests.settle();
    await guests.run(request, undefined, text);
    if (i >= WARM_UP) times.push((performance.now() - started) * 1000);
  }
  return row('least: hook call in process, 1.2 KB', [
    lower('p50', percentile(times, 0.5), 'µs'),
    lower('p99', percentile(times, 0.99), 'µs'),
  ]);
}
