import { performance } from 'node:perf_hooks';
import { sha256Hex, silentLogger, systemClock } from '../src/kernel/index.ts';
import { createGuestCache } from '../src/sandbox/child/guest-cache.ts';
import { loadEngine } from '../src/sandbox/child/load-engine.ts';
import { createSandbox, type HookCall, type SandboxModule } from '../src/sandbox/index.ts';
import { BINARY } from '../test/support/gateway.ts';
import { atMost, percentile, type Row } from './row.ts';

type Spread = { p50: number; p99: number };

const WARM_UP = 2_000;
const CALLS = 5_000;
const IN_FLIGHT = 32;
const BURST = 20_000;
const MEBIBYTE = 1024 * 1024;

const source = `
export const meta = { key: 'bench' };
export function buildSubmitRequest(ctx) {
  return {
    method: 'POST',
    url: ctx.baseUrl + '/v1/jobs',
    headers: { authorization: 'Bearer ' + ctx.apiKey, 'content-type': 'application/json' },
    body: { model: ctx.model, prompt: ctx.input.prompt.slice(0, 850), seconds: Number(ctx.input.seconds) || 5 },
  };
}`;
const plugin: SandboxModule = { key: 'bench', version: '1.0.0', source, sourceHash: sha256Hex(source) };

/** About 2 KB in and 1 KB out. */
const hookArgs = [
  {
    baseUrl: 'https://vendor.example',
    apiKey: 'key-0123456789abcdef',
    model: 'video-1',
    input: { prompt: 'a lighthouse in the fog '.repeat(78), seconds: '8' },
  },
];

/** Microseconds of each of `CALLS` calls made one after another, after a warm-up. */
async function measure(call: () => unknown): Promise<Spread> {
  for (let i = 0; i < WARM_UP; i++) await call();
  const times: number[] = [];
  for (let i = 0; i < CALLS; i++) {
    const startedAt = performance.now();
    await call();
    times.push((performance.now() - startedAt) * 1000);
  }
  return { p50: percentile(times, 0.5), p99: percentile(times, 0.99) };
}

async function measureInProcess(): Promise<Spread> {
  const guests = createGuestCache(await loadEngine(), () => performance.now());
  const args = JSON.stringify(hookArgs);
  const request = {
    id: 1,
    sourceHash: plugin.sourceHash,
    owner: 'user:1',
    path: ['buildSubmitRequest'],
    maxResultBytes: MEBIBYTE,
    consoleBytes: 16_384,
    memoryBytes: 128 * MEBIBYTE,
    budgetMs: 5_000,
    nowMs: 1_700_000_000_000,
  };
  await guests.run(request, plugin.source, args);
  return measure(() => {
    guests.settle();
    return guests.run(request, undefined, args);
  });
}

/**
 * Times hook calls with fresh state, 2 KB in and 1 KB out: QuickJS alone in this process, and
 * through a sandbox process of the executable; then calls per second with 32 in flight.
 */
export async function benchHookCalls(): Promise<Row[]> {
  const inProcess = await measureInProcess();
  const { child, callsPerSecond } = await measureChild();
  return [
    { what: 'hook call, in process', measured: show(inProcess), figures: figuresOf(inProcess) },
    {
      what: 'hook call, through a sandbox process',
      measured: show(child),
      aim: atMost(child.p50, 250, 'µs p50'),
      figures: figuresOf(child),
    },
    {
      what: `hook calls, ${IN_FLIGHT} in flight`,
      measured: `${callsPerSecond.toFixed(0)}/s`,
      figures: { per_second: callsPerSecond },
    },
  ];
}

const show = ({ p50, p99 }: Spread): string => `p50 ${p50.toFixed(0)} µs, p99 ${p99.toFixed(0)} µs`;
const figuresOf = ({ p50, p99 }: Spread) => ({ p50_us: p50, p99_us: p99 });

async function measureChild(): Promise<{ child: Spread; callsPerSecond: number }> {
  const sandbox = createSandbox({
    command: [BINARY, '__sandbox'],
    clock: systemClock,
    logger: silentLogger,
    limits: {
      processes: 2,
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
  const hook: HookCall = {
    owner: 'user:1',
    path: ['buildSubmitRequest'],
    args: hookArgs,
    maxArgsBytes: MEBIBYTE,
    maxResultBytes: MEBIBYTE,
  };
  const call = async () => {
    const outcome = await sandbox.call(plugin, hook);
    if (!outcome.ok) throw new Error(outcome.error.message);
  };
  try {
    await sandbox.ready();
    const child = await measure(call);
    let left = BURST;
    const startedAt = performance.now();
    await Promise.all(
      Array.from({ length: IN_FLIGHT }, async () => {
        while (left-- > 0) await call();
      }),
    );
    return { child, callsPerSecond: (BURST / (performance.now() - startedAt)) * 1000 };
  } finally {
    await sandbox.close();
  }
}
