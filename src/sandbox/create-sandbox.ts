import {
  type Clock,
  err,
  type Json,
  type Logger,
  ok,
  parseJson,
  type Result,
  sanitizeMessage,
} from '../kernel/index.ts';
import { createKillCounter } from './count-kills.ts';
import type { Reply } from './frames.ts';
import type { Job, PoolFailure } from './pool-types.ts';
import { readResult } from './read-result.ts';
import { createPool } from './run-pool.ts';
import type { HookCall, ModuleInfo, Sandbox, SandboxFailure, SandboxLimits, SandboxModule } from './types.ts';

type SandboxOptions = {
  limits: SandboxLimits;
  /** Starts a child: a program that calls `runSandboxChild`, and its arguments. */
  command: readonly string[];
  clock: Clock;
  logger: Logger;
};

type Waiting = Pick<HookCall, 'owner' | 'alreadyAdmitted' | 'admissionTimeoutMs' | 'signal'>;
type Answered = Result<{ reply: Reply; body: string }, SandboxFailure>;

const CLOSED: PoolFailure = { kind: 'closed', message: 'the gateway is stopping' };

/** The inspection's answer holds names and `meta`; it is parsed here, on the gateway's thread. */
export const MAX_INSPECT_BYTES = 256 * 1024;

/**
 * Starts the first child at once. Every failure of a plugin is a returned `SandboxFailure`; nothing
 * here throws.
 */
export function createSandbox({ limits, command, clock, logger }: SandboxOptions): Sandbox {
  const kills = createKillCounter(limits, clock);
  let calls = 0;
  let closed = false;

  const pool = createPool({
    limits,
    command,
    clock,
    logger,
    onKill(job) {
      // An inspection is an administrator's trial of new source: the version that serves does not
      // pay for it.
      if (job.request.path === undefined) return;
      const { lane: key, owner } = job;
      const verdict = kills.record(key, owner);
      if (verdict === 'none') return;
      const everybody = verdict === 'plugin_suspended';
      if (everybody) logger.warn({ plugin: key, suspend_ms: limits.suspendMs }, 'plugin suspended');
      else logger.warn({ plugin: key, owner, refuse_ms: limits.suspendMs }, 'plugin refused to one owner');
      const refused = (waiting: Job): boolean =>
        waiting.lane === key && !waiting.alreadyAdmitted && (everybody || waiting.owner === owner);
      for (const waiting of pool.queue.drain(refused)) waiting.onFailure(refusalFor(key, waiting.owner) ?? CLOSED);
    },
    runsAlone: ({ lane, owner }) => kills.hasKilled(lane, owner),
  });

  function refusalFor(key: string, owner: string): PoolFailure | undefined {
    const often = `${limits.killsToSuspend} times within ${limits.killWindowMs} ms`;
    const seconds = (ms: number): string => `${Math.ceil(ms / 1000)} s`;
    const suspendedMs = kills.suspendedMs(key);
    if (suspendedMs > 0) {
      const message = `plugin ${key} had to be stopped ${often}; it is suspended for another ${seconds(suspendedMs)}`;
      return { kind: 'suspended', message, retryAfterMs: suspendedMs };
    }
    const refusedMs = kills.refusedMs(key, owner);
    if (refusedMs === 0) return undefined;
    const message = `plugin ${key} had to be stopped ${often} for requests of yours; it takes none of them for another ${seconds(refusedMs)}`;
    return { kind: 'owner_refused', message, retryAfterMs: refusedMs };
  }

  function run(
    module: SandboxModule,
    request: Job['request'],
    args: string,
    { owner, alreadyAdmitted = false, admissionTimeoutMs, signal }: Waiting,
  ): Promise<Answered> {
    const { promise, resolve } = Promise.withResolvers<Answered>();
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
      lane: module.key,
      owner,
      alreadyAdmitted,
      module,
      request,
      args,
      attempts: 0,
      queuedAt: clock.monotonicMs(),
      onStart() {
        sent = true;
        stopWaiting();
      },
      onWait: wait,
      onReply(reply, body) {
        calls++;
        resolve(reply.failure ? err(toFailure(reply.failure, reply.console)) : ok({ reply, body }));
      },
      onFailure(failure) {
        stopWaiting();
        resolve(err(toFailure(failure)));
      },
    };
    const giveUp = (): void => {
      if (!pool.queue.remove(job)) return;
      const message = signal?.aborted
        ? 'the caller gave up before a slot was free'
        : `no slot was free within the limit of ${admissionTimeoutMs} ms`;
      job.onFailure({ kind: 'overloaded', message });
    };
    pool.submit(job);
    if (!sent) wait();
    return promise;
  }

  /** What can be refused without a process. */
  function refusal(module: SandboxModule): PoolFailure | undefined {
    if (closed) return CLOSED;
    if (Buffer.byteLength(module.source) > limits.sourceBytes) {
      return { kind: 'too_large', message: `the source is over the limit of ${limits.sourceBytes} bytes` };
    }
    return undefined;
  }

  return {
    async inspect(module, owner) {
      const refused = refusal(module);
      if (refused) return err(toFailure(refused));
      const answered = await run(module, { maxResultBytes: MAX_INSPECT_BYTES }, '', { owner });
      if (!answered.ok) return answered;
      const info = parseJson(answered.value.body) as { exports: ModuleInfo['exports']; meta?: Json } | undefined;
      if (!info) return err(toFailure({ kind: 'codec', message: 'the exports are no JSON' }));
      return ok({ exports: info.exports, meta: info.meta });
    },

    async call(module, call) {
      const { owner } = call;
      const refused = refusal(module) ?? (call.alreadyAdmitted ? undefined : refusalFor(module.key, owner));
      if (refused) return err(toFailure(refused));
      const args = encodeArgs(call);
      if (!args.ok) return args;
      const request = {
        path: call.path,
        maxResultBytes: call.maxResultBytes,
        ...(call.unixNow === undefined ? {} : { unixNow: call.unixNow }),
      };
      const answered = await run(module, request, args.value, call);
      if (!answered.ok) return answered;
      const { reply, body } = answered.value;
      const value = await readResult(body, call.path.join('.'));
      if (!value.ok) return err(toFailure(value.error, reply.console));
      return ok({ value: value.value, console: reply.console, ms: reply.ms ?? 0 });
    },

    forget: (sourceHash) => pool.forget(sourceHash),
    isSuspended: (key) => kills.suspendedMs(key) > 0,
    stats: () => ({
      ...pool.stats(),
      calls,
      queued: pool.queue.size,
      suspended: kills.suspended(),
      killCounts: kills.counts(),
    }),
    watchCaches(watchCache) {
      watchCache('sandbox_kills', kills.size);
      watchCache('sandbox_call_times', pool.remembered);
    },
    ready: () => pool.ready(),
    async close() {
      closed = true;
      await pool.close();
    },
  };
}

function encodeArgs(call: HookCall): Result<string, SandboxFailure> {
  let count = call.args.length;
  while (count > 0 && call.args[count - 1] === undefined) count--;
  let text: string;
  try {
    text = JSON.stringify(call.args.slice(0, count));
  } catch (error) {
    return err(toFailure({ kind: 'codec', message: `the arguments are no JSON: ${String(error)}` }));
  }
  if (Buffer.byteLength(text) <= call.maxArgsBytes) return ok(text);
  const message = `the arguments of ${call.path.join('.')} are over the limit of ${call.maxArgsBytes} bytes`;
  return err(toFailure({ kind: 'too_large', message }));
}

function toFailure(failure: Omit<SandboxFailure, 'console'>, console: string[] = []): SandboxFailure {
  return { ...failure, message: sanitizeMessage(failure.message) || 'the plugin hook failed', console };
}
