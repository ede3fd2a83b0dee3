import {
  type Clock,
  err,
  type Json,
  type Logger,
  MAX_JSON_DEPTH,
  ok,
  parseJson,
  type Result,
  sanitizeMessage,
} from '../kernel/index.ts';
import { findDynamicImport } from './find-dynamic-import.ts';
import type { Reply } from './frames.ts';
import { createPool, type Job, type PoolFailure } from './run-pool.ts';
import { createSuspensions } from './suspend-plugins.ts';
import type { HookCall, ModuleInfo, Sandbox, SandboxFailure, SandboxLimits, SandboxModule } from './types.ts';

type SandboxOptions = {
  limits: SandboxLimits;
  /** Starts a child: a program that calls `runSandboxChild`, and its arguments. */
  command: readonly string[];
  clock: Clock;
  logger: Logger;
};

type Waiting = Pick<HookCall, 'admissionTimeoutMs' | 'signal'>;
type Answered = Result<{ reply: Reply; body: string }, SandboxFailure>;

/** The inspection's answer holds names and `meta`, which together are no longer than their source by much. */
const MAX_INSPECT_BYTES = 4 * 1024 * 1024;

/** Starts the first child at once. Every failure of a plugin is a returned `SandboxFailure`; nothing here throws. */
export function createSandbox({ limits, command, clock, logger }: SandboxOptions): Sandbox {
  const suspensions = createSuspensions(limits, clock);
  let calls = 0;
  let closed = false;

  const pool = createPool({
    limits,
    command,
    clock,
    logger,
    onKill(job) {
      // An inspection is an administrator's trial of new source: the version that serves does not pay for it.
      if (job.request.path === undefined || !suspensions.recordKill(job.key)) return;
      logger.warn({ plugin: job.key, suspend_ms: limits.suspendMs }, 'plugin suspended');
      for (const waiting of pool.queue.drain(job.key)) waiting.onFailure(suspendedFailure(job.key));
    },
  });

  const suspendedFailure = (key: string): PoolFailure => ({
    kind: 'suspended',
    message:
      `plugin ${key} had to be stopped ${limits.killsToSuspend} times within ${limits.killWindowMs} ms; ` +
      `it is suspended for another ${Math.ceil(suspensions.remainingMs(key) / 1000)} s`,
  });

  function run(
    module: SandboxModule,
    request: Job['request'],
    args: string,
    { admissionTimeoutMs, signal }: Waiting,
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
      key: module.key,
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
    if (closed) return { kind: 'closed', message: 'the gateway is stopping' };
    if (Buffer.byteLength(module.source) > limits.sourceBytes) {
      return { kind: 'too_large', message: `the source is over the limit of ${limits.sourceBytes} bytes` };
    }
    return undefined;
  }

  return {
    async inspect(module) {
      const refused = refusal(module);
      if (refused) return err(toFailure(refused));
      const found = findDynamicImport(module.source);
      if (found)
        return err({ kind: 'compile', message: 'import() is not available to plugins', ...found, console: [] });
      const answered = await run(module, { maxResultBytes: MAX_INSPECT_BYTES }, '', {});
      if (!answered.ok) return answered;
      const info = parseJson(answered.value.body) as { exports: ModuleInfo['exports']; meta?: Json } | undefined;
      if (!info) return err(toFailure({ kind: 'codec', message: 'the exports are no JSON' }));
      return ok({ exports: info.exports, meta: info.meta });
    },

    async call(module, call) {
      const refused = refusal(module);
      if (refused) return err(toFailure(refused));
      if (suspensions.remainingMs(module.key) > 0) return err(toFailure(suspendedFailure(module.key)));
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
      const value = body === '' ? undefined : parseJson(body);
      if (body !== '' && value === undefined) {
        return err(
          toFailure(
            { kind: 'codec', message: `the result is no JSON of at most ${MAX_JSON_DEPTH} levels` },
            reply.console,
          ),
        );
      }
      return ok({ value, console: reply.console, ms: reply.ms ?? 0 });
    },

    forget: (sourceHash) => pool.forget(sourceHash),
    isSuspended: (key) => suspensions.remainingMs(key) > 0,
    stats: () => ({ ...pool.stats(), calls, queued: pool.queue.size, suspended: suspensions.suspended() }),
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
