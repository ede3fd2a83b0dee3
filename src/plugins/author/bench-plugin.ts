import { type Clock, err, jsonBytes, ok, type Result } from '../../kernel/index.ts';
import type { Sandbox } from '../../sandbox/index.ts';
import type { PluginFault } from '../types.ts';
import { type FixtureCase, readFixture } from './fixture-file.ts';
import { type OpenPlugin, openPlugin, type TrialFailure } from './open-plugin.ts';

/**
 * Times are in ms, measured in the sandbox's process: from the arrival of the arguments to the
 * departure of the result.
 */
export type HookBench = {
  hook: string;
  cases: number;
  calls: number;
  p50: number;
  p95: number;
  max: number;
  /** For sequential calls, including the way to the sandbox's process and back. */
  callsPerSecond: number;
  /** Size of the largest arguments and the largest result, in bytes of JSON. */
  bytesIn: number;
  bytesOut: number;
};
export type BenchReport = {
  /** False if a case went over the limit or could not run. */
  ok: boolean;
  limitMs: number;
  recommendedMs: number;
  hooks: HookBench[];
  /** Cases that went over the limit, or that the sandbox could not run. */
  failures: { name: string; message: string }[];
  /** Names of hooks whose p95 is over `recommendedMs`. */
  slow: string[];
};
export type BenchOptions = {
  clock: Clock;
  /** How long to measure all hooks together. */
  durationMs: number;
  /** The sandbox's limit for one call. */
  limitMs: number;
};

/**
 * A task is polled many times, and only eight calls of a plugin run at once. A hook that takes
 * longer delays others.
 */
const RECOMMENDED_MS = 50;
/** Rounds that are measured even if the time is over. */
const MIN_ROUNDS = 5;

type Measured = { ms: number; bytesOut: number };
type CaseFailure = { name: string; message: string };

/** Failures that do not fail a case, because it may be about an error or a refusal. */
const isRefusal = ({ kind }: TrialFailure): boolean => kind === 'thrown' || kind === 'invalid_result';

/**
 * Measures every hook that the cases of a fixture call, in equal shares of the time. `fixture` is
 * the parsed JSON of its file. Results are not checked; that is what tests do.
 */
export async function benchPlugin(
  sandbox: Sandbox,
  { source, fixture }: { source: string; fixture: unknown },
  options: BenchOptions,
): Promise<Result<BenchReport, PluginFault[]>> {
  const read = readFixture(fixture);
  if (!read.ok) return err([{ path: 'fixture', rule: 'fixture.format', message: read.error }]);
  const opened = await openPlugin(source, sandbox);
  if (!opened.ok) return opened;
  const { cases, unixNow } = read.value;
  const byHook = Map.groupBy(cases, ({ path }) => path.join('.'));
  const report: BenchReport = {
    ok: true,
    limitMs: options.limitMs,
    recommendedMs: RECOMMENDED_MS,
    hooks: [],
    failures: [],
    slow: [],
  };
  for (const [hook, own] of byHook) {
    const share = { ...options, durationMs: options.durationMs / byHook.size };
    const { bench, failures } = await benchHook(opened.value, { hook, cases: own, unixNow }, share);
    report.failures.push(...failures);
    if (bench) report.hooks.push(bench);
    if (bench && bench.p95 > RECOMMENDED_MS) report.slow.push(hook);
  }
  report.ok = report.failures.length === 0;
  return ok(report);
}

async function benchHook(
  plugin: OpenPlugin,
  { hook, cases, unixNow }: { hook: string; cases: readonly FixtureCase[]; unixNow: number | undefined },
  { clock, durationMs, limitMs }: BenchOptions,
): Promise<{ bench: HookBench | undefined; failures: CaseFailure[] }> {
  const times: number[] = [];
  const failures: CaseFailure[] = [];
  let bytesOut = 0;
  let runnable = [...cases];
  const measure = async (one: FixtureCase): Promise<Result<Measured, string>> => {
    const startedAt = clock.monotonicMs();
    const outcome = await plugin.call(one.path, one.args, unixNow);
    const elapsed = clock.monotonicMs() - startedAt;
    if (!outcome.ok) return isRefusal(outcome.error) ? ok({ ms: elapsed, bytesOut: 0 }) : err(outcome.error.message);
    const { ms, value } = outcome.value;
    if (ms > limitMs) return err(`took ${Math.round(ms)} ms; the limit is ${limitMs} ms`);
    return ok({ ms, bytesOut: value === undefined ? 0 : jsonBytes(value) });
  };

  // The first round loads the plugin, so it is not counted. It also finds the cases that cannot
  // run.
  for (const one of cases) {
    const first = await measure(one);
    if (first.ok) bytesOut = Math.max(bytesOut, first.value.bytesOut);
    else {
      failures.push({ name: one.name, message: first.error });
      runnable = runnable.filter((other) => other !== one);
    }
  }
  const startedAt = clock.monotonicMs();
  for (let round = 0; runnable.length > 0; round++) {
    if (round >= MIN_ROUNDS && clock.monotonicMs() - startedAt >= durationMs) break;
    for (const one of runnable) {
      const measured = await measure(one);
      if (measured.ok) times.push(measured.value.ms);
      else failures.push({ name: one.name, message: measured.error });
    }
    if (failures.length > cases.length - runnable.length) break;
  }
  if (times.length === 0) return { bench: undefined, failures };
  const seconds = (clock.monotonicMs() - startedAt) / 1000;
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
  const bytesIn = Math.max(...cases.map(({ args }) => jsonBytes(args)));
  const bench: HookBench = {
    hook,
    cases: cases.length,
    calls: times.length,
    p50: at(0.5),
    p95: at(0.95),
    max: at(1),
    callsPerSecond: times.length / seconds,
    bytesIn,
    bytesOut,
  };
  return { bench, failures };
}
