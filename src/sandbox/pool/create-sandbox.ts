import {
  type Clock,
  err,
  type Json,
  type Logger,
  ok,
  parseJson,
  quoted,
  type Result,
  type Sentence,
  sanitizeMessage,
  sentence,
} from '../../kernel/index.ts';
import { readResult } from '../read-result.ts';
import type { HookCall, ModuleInfo, Sandbox, SandboxFailure, SandboxLimits, SandboxModule } from '../types.ts';
import { createPool, type Pool } from './create-pool.ts';
import { toCallKey } from './estimate-calls.ts';
import { createReusableResults, type ReusableResults } from './reusable-results.ts';
import { CLOSED } from './send-jobs.ts';
import { createKillCounter, type KillCounter } from './suspend-after-kills.ts';
import type { Job, JobAnswer, PoolFailure } from './types.ts';

type SandboxOptions = {
  limits: SandboxLimits;
  /** Starts a child: a program that calls `runSandboxChild`, and its arguments. */
  command: readonly string[];
  clock: Clock;
  logger: Logger;
};

type State = {
  limits: SandboxLimits;
  clock: Clock;
  kills: KillCounter;
  pool: Pool;
  results: ReusableResults;
  /** Answered calls since the start. */
  calls: number;
  closed: boolean;
};

type JobInput = Pick<Job, 'module' | 'request' | 'args' | 'argsBytes'> & {
  caller: Pick<HookCall, 'owner' | 'alreadyAdmitted' | 'admissionTimeoutMs' | 'signal'>;
};
type JobOutcome = Result<JobAnswer, SandboxFailure>;

/**
 * Limit of an inspection's answer, which holds names and `meta`. It is parsed on the gateway's
 * thread.
 */
export const MAX_INSPECT_BYTES = 256 * 1024;

/**
 * Starts the first child at once. Every failure of a plugin is a returned `SandboxFailure`; nothing
 * here throws.
 */
export function createSandbox({ limits, command, clock, logger }: SandboxOptions): Sandbox {
  const kills = createKillCounter(limits, clock);
  const pool = createPool({
    limits,
    command,
    clock,
    logger,
    onKill: (job) => countKill(state, logger, job),
    runsAlone: ({ plugin, owner }) => kills.hasKilled(plugin, owner),
  });
  const results = createReusableResults();
  const state: State = { limits, clock, kills, pool, results, calls: 0, closed: false };

  return {
    inspect: (module, owner) => inspectModule(state, module, owner),
    call: (module, call) => callHook(state, module, call),
    forget(sourceHash) {
      pool.forget(sourceHash);
      results.forget(sourceHash);
    },
    isSuspended: (key) => kills.suspendedMs(key) > 0,
    stats: () => ({
      ...pool.stats(),
      calls: state.calls,
      queued: pool.queue.size,
      suspended: kills.suspended(),
      killCounts: kills.counts(),
    }),
    watchCaches(reportCacheSize) {
      reportCacheSize('sandbox_kills', kills.size);
      reportCacheSize('sandbox_call_times', pool.estimateCount);
      reportCacheSize('sandbox_results', results.size);
    },
    ready: () => pool.ready(),
    async close() {
      state.closed = true;
      await pool.close();
    },
  };
}

async function inspectModule(
  state: State,
  module: SandboxModule,
  owner: string,
): Promise<Result<ModuleInfo, SandboxFailure>> {
  const refusal = checkModule(state, module);
  if (refusal) return err(toFailure(refusal));
  const answered = await runJob(state, {
    module,
    request: { maxResultBytes: MAX_INSPECT_BYTES },
    args: '',
    argsBytes: 0,
    caller: { owner },
  });
  if (!answered.ok) return answered;
  const info = parseJson(answered.value.body) as
    | { exports: ModuleInfo['exports']; meta?: Json; vendorInfo?: Json }
    | undefined;
  if (!info) return err(toFailure({ kind: 'codec', ...sentence('fault.exports_json') }));
  const { exports, meta, vendorInfo } = info;
  return ok({ exports, meta, ...(vendorInfo === undefined ? {} : { vendorInfo }) });
}

async function callHook(state: State, module: SandboxModule, call: HookCall): ReturnType<Sandbox['call']> {
  const refusal =
    checkModule(state, module) ?? (call.alreadyAdmitted ? undefined : checkKills(state, module.key, call.owner));
  if (refusal) return err(toFailure(refusal));
  const args = encodeArgs(call);
  if (!args.ok) return args;
  const { path, maxResultBytes, unixNow } = call;
  const { sourceHash } = module;
  const mayReuse = call.reuse === true && unixNow === undefined;
  const key = mayReuse ? state.results.toKey({ sourceHash, path, maxResultBytes, args: args.value.args }) : undefined;
  const kept = key === undefined ? undefined : state.results.find(key);
  if (kept !== undefined) {
    const value = await readResult(kept, '');
    if (value.ok) return ok({ value: value.value, console: [], ms: 0, repeatable: true });
  }
  const request = { path, maxResultBytes, ...(unixNow === undefined ? {} : { unixNow }) };
  const answered = await runJob(state, { module, request, ...args.value, caller: call });
  if (!answered.ok) return answered;
  const { body, console, ms, repeatable = false } = answered.value;
  const value = await readResult(body, path.join('.'));
  if (!value.ok) return err(toFailure(value.error, console));
  if (repeatable && key !== undefined) state.results.keep(key, body, sourceHash);
  return ok({ value: value.value, console, ms, repeatable });
}

/**
 * Runs a job in the pool. It fails as `overloaded` when the admission time passes or the signal is
 * aborted while it waits for a slot; once it is sent, it runs to its end.
 */
function runJob(state: State, input: JobInput): Promise<JobOutcome> {
  const { pool, clock } = state;
  const { module, request, args, argsBytes } = input;
  const { owner, alreadyAdmitted = false, admissionTimeoutMs, signal } = input.caller;
  const { promise, resolve } = Promise.withResolvers<JobOutcome>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let sent = false;
  const stopWaiting = (): void => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', giveUp);
  };
  const wait = (): void => {
    if (admissionTimeoutMs !== undefined) timer = setTimeout(giveUp, admissionTimeoutMs);
    signal?.addEventListener('abort', giveUp, { once: true });
    if (signal?.aborted) giveUp();
  };
  const job: Job = {
    plugin: module.key,
    owner,
    callKey: toCallKey(module.key, owner),
    alreadyAdmitted,
    module,
    request,
    args,
    argsBytes,
    attempts: 0,
    queuedAt: clock.monotonicMs(),
    onStart() {
      sent = true;
      stopWaiting();
    },
    onWait: wait,
    onReply(answer) {
      state.calls++;
      resolve(answer.failure ? err(toFailure(answer.failure, answer.console)) : ok(answer));
    },
    onFailure(failure) {
      stopWaiting();
      resolve(err(toFailure(failure)));
    },
  };
  const giveUp = (): void => {
    if (!pool.queue.remove(job)) return;
    const said = signal?.aborted
      ? sentence('plugins.gave_up')
      : sentence('plugins.no_slot', { ms: admissionTimeoutMs ?? 0 });
    job.onFailure({ kind: 'overloaded', ...said });
  };
  pool.submit(job);
  if (!sent) wait();
  return promise;
}

/** Counts a kill, and fails the waiting calls that it refuses the plugin to. */
function countKill(state: State, logger: Logger, job: Job): void {
  // An inspection is a trial of new source: the version that serves must not be suspended for it.
  if (job.request.path === undefined) return;
  const { kills, limits, pool } = state;
  const { plugin, owner } = job;
  const verdict = kills.record(plugin, owner);
  if (verdict === 'none') return;
  const everybody = verdict === 'plugin_suspended';
  if (everybody) logger.warn({ plugin, suspend_ms: limits.suspendMs }, 'plugin suspended');
  else logger.warn({ plugin, owner, refuse_ms: limits.suspendMs }, 'plugin refused to one owner');
  const isRefused = (waiting: Job): boolean =>
    waiting.plugin === plugin && !waiting.alreadyAdmitted && (everybody || waiting.owner === owner);
  for (const waiting of pool.queue.drain(isRefused))
    waiting.onFailure(checkKills(state, plugin, waiting.owner) ?? CLOSED);
}

/** Why the plugin is refused to this owner for its kills, if it is. */
function checkKills({ kills, limits }: State, plugin: string, owner: string): PoolFailure | undefined {
  const stopped = { plugin, times: limits.killsToSuspend, ms: limits.killWindowMs };
  const toSeconds = (ms: number): number => Math.ceil(ms / 1000);
  const suspendedMs = kills.suspendedMs(plugin);
  if (suspendedMs > 0) {
    const said = sentence('plugins.suspended', { ...stopped, seconds: toSeconds(suspendedMs) });
    return { kind: 'suspended', ...said, retryAfterMs: suspendedMs };
  }
  const refusedMs = kills.refusedMs(plugin, owner);
  if (refusedMs === 0) return undefined;
  const said = sentence('plugins.refuses_you', { ...stopped, seconds: toSeconds(refusedMs) });
  return { kind: 'owner_refused', ...said, retryAfterMs: refusedMs };
}

/** Why the module cannot run at all, as far as that is known without a process. */
function checkModule({ closed, limits }: State, module: SandboxModule): PoolFailure | undefined {
  if (closed) return CLOSED;
  if (exceedsBytes(module.source, limits.sourceBytes)) {
    return { kind: 'too_large', ...sentence('plugins.source_size', { max: limits.sourceBytes }) };
  }
  return undefined;
}

/** Whether a text is longer in UTF-8, which is counted only where the length does not tell. */
const exceedsBytes = (text: string, limit: number): boolean =>
  text.length > limit || (3 * text.length > limit && Buffer.byteLength(text) > limit);

function encodeArgs(call: HookCall): Result<Pick<Job, 'args' | 'argsBytes'>, SandboxFailure> {
  let count = call.args.length;
  while (count > 0 && call.args[count - 1] === undefined) count--;
  let args: string;
  try {
    args = JSON.stringify(call.args.slice(0, count));
  } catch (error) {
    return err(toFailure({ kind: 'codec', ...sentence('hook.arguments_json', { words: String(error) }) }));
  }
  const argsBytes = Buffer.byteLength(args);
  if (argsBytes <= call.maxArgsBytes) return ok({ args, argsBytes });
  const said = sentence('hook.arguments_size', { name: call.path.join('.'), bytes: call.maxArgsBytes });
  return err(toFailure({ kind: 'too_large', ...said }));
}

type UnnamedFailure = Omit<SandboxFailure, 'console' | 'reason' | 'params'> & Partial<Sentence>;

/** A failure that names no reason has the words of the plugin or of the engine. */
function toFailure({ reason, ...failure }: UnnamedFailure, console: string[] = []): SandboxFailure {
  const message = sanitizeMessage(failure.message);
  const words = message === '' ? sentence('plugins.hook_failed') : quoted(message);
  const said = reason === undefined ? words : { reason, message, params: failure.params ?? {} };
  return { ...failure, ...said, console };
}
