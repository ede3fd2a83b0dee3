/** Loads a plugin's source into the sandbox, and says when its guest is reset or dropped. */
import type { QuickJSContext, QuickJSHandle } from 'quickjs-emscripten-core';
import { sentence } from '../../kernel/index.ts';
import type { HookRequest, Reply, ReplyFailure } from '../frames.ts';
import { answerGuest, createSeeds, type GuestCall } from './answer-guest.ts';
import { type CallFunction, createCallFunction } from './call-function.ts';
import { guestSource } from './guest-source.ts';
import type { Engine, GuestImports } from './load-engine.ts';
import { captureImage, type MemoryImage } from './memory-image.ts';

/** Stack limit of a guest; the host's own stack is several times as large. */
const GUEST_STACK_BYTES = 262_144;
/**
 * A guest whose memory grew by more than this is dropped, because clearing it would cost more than
 * loading it again.
 */
const MAX_GROWTH_BYTES = 16 * 1024 * 1024;
/**
 * Garbage that the library leaves per host call (measured), and how much garbage, with the copied
 * texts, triggers a collection.
 */
const HOST_CALL_BYTES = 4_096;
const COLLECT_BYTES = 16 * 1024 * 1024;
const PLUGIN_FILE = 'plugin.js';
const MEBIBYTE = 1024 * 1024;

/**
 * The outcome of a request: the reply's head without its id, and its body: JSON in UTF-8, which is
 * lost when the guest runs or is reset.
 */
export type Answer = { reply: Omit<Reply, 'id'>; body: Uint8Array };
export const NO_BODY = new Uint8Array();

/** A loaded plugin. Every call starts from the state that it had after loading. */
export interface Guest {
  /**
   * `args` is a JSON array in UTF-8, `deadline` a time on the process's monotonic clock. Never
   * throws.
   */
  run(request: HookRequest, args: Uint8Array, deadline: number): Answer;
  /** Resets the guest to its loaded state. False when it must not be used again. */
  restore(): boolean;
  /** Upper bound of the memory that the guest holds. */
  heldBytes(): number;
}

/** Failures that may be a consequence of a lack of memory. */
const MEMORY_CONSEQUENCES: ReadonlySet<ReplyFailure['kind']> = new Set(['thrown', 'compile', 'codec']);

type Running = { request: HookRequest; call: GuestCall; deadline: number; interrupted: boolean };
type Argument = Parameters<CallFunction>[1];
type Bridge = Record<
  'describe' | 'prepare' | 'bind' | 'inspect' | 'dispatch' | 'finish' | 'objectPrototype' | 'arrayPrototype',
  QuickJSHandle
>;

/** The process's monotonic clock, in ms. */
export type MonotonicMs = () => number;

/** Loads a plugin's source within the request's deadline, or answers why it does not load. */
export async function loadGuest(
  { engine, monotonicMs }: { engine: Engine; monotonicMs: MonotonicMs },
  { source, request, deadline: loadDeadline }: { source: string; request: HookRequest; deadline: number },
): Promise<Guest | Answer> {
  const { quickjs, memory, exports, imports } = await engine.open(request.memoryBytes);
  const runtime = quickjs.newRuntime({ maxStackSizeBytes: GUEST_STACK_BYTES });
  const context = runtime.newContext();
  const nextSeed = createSeeds();
  const begin = (next: HookRequest, deadline: number): Running => {
    memory.ranOut = false;
    imports.readSystem = false;
    const startedAt = monotonicMs();
    const nowMs = () => next.nowMs + Math.floor(monotonicMs() - startedAt);
    return { request: next, call: { ...newCall(next), nowMs, nextSeed }, deadline, interrupted: false };
  };
  let running = begin(request, loadDeadline);
  const bridge = bootGuest({ context, imports }, () => running.call);
  const { finish, objectPrototype: object, arrayPrototype: array } = bridge;
  const callGuest = createCallFunction(context, { exports, memory, engine, finish, prototypes: { object, array } });
  // Only from here on. The boot is the host's own code: it ends, and interrupting it would end the
  // process.
  runtime.setInterruptHandler(() => {
    if (monotonicMs() >= running.deadline) running.interrupted = true;
    imports.expected = true;
    return running.interrupted;
  });
  /** Whether what ran since `begin` may do something else next time. */
  const varied = (): boolean =>
    running.call.varies || running.request.unixNow !== undefined || imports.readSystem || memory.ranOut;
  // After an exception on the host's side of a guest call, the state of the instance is unknown.
  let poisoned = false;
  const guarded = (work: () => Answer): Answer => {
    try {
      const answer = work();
      if (running.interrupted) return timeoutFailure(running);
      // Out of memory the engine throws null, and an error that the plugin then throws itself is
      // only a consequence.
      const { failure } = answer.reply;
      return failure && memory.ranOut && MEMORY_CONSEQUENCES.has(failure.kind) ? memoryFailure(running) : answer;
    } catch (error) {
      poisoned = true;
      if (running.interrupted) return timeoutFailure(running);
      return error instanceof RangeError ? stackFailure(running) : memoryFailure(running);
    }
  };
  const ask = (fn: QuickJSHandle, argument: Argument, thrownAs: 'compile' | 'thrown'): Answer => {
    const answer = callGuest(fn, argument);
    if (answer) return readAnswer(running, answer, thrownAs);
    // The guest could not even describe its error: it has run out of memory or stack.
    return memory.ranOut ? memoryFailure(running) : stackFailure(running);
  };

  const loaded = guarded(() => {
    context.callFunction(bridge.prepare, context.undefined, [context.newString(`${encodeStart(request)}}`)]);
    const evaluated = context.evalCode(source, PLUGIN_FILE, { type: 'module', strict: true });
    if (evaluated.error) return ask(bridge.describe, evaluated.error, 'compile');
    const state = context.getPromiseState(evaluated.value);
    if (state.type === 'rejected') return ask(bridge.describe, state.error, 'compile');
    if (state.type === 'pending') return fail(running, { kind: 'async', ...sentence('fault.awaits') });
    if (runtime.hasPendingJob()) return fail(running, { kind: 'async', ...sentence('fault.promise') });
    context.callFunction(bridge.bind, context.undefined, [state.value]);
    return { reply: { console: running.call.console }, body: NO_BODY };
  });
  if (loaded.reply.failure) return loaded;
  // What the module's top level read is part of the image, so every call may return it.
  const isModuleVarying = varied();

  const startBytes = memory.buffer.byteLength;
  const image: MemoryImage = captureImage(memory, engine.layout);
  let held = 0;
  return {
    run(next, args, deadline) {
      running = begin(next, deadline);
      return guarded(() => {
        if (next.path === undefined) return checkInspected(running, ask(bridge.inspect, undefined, 'compile'));
        const answer = ask(bridge.dispatch, { start: encodeCall(next, next.path), value: args }, 'thrown');
        const checked = checkResult(running, runtime.hasPendingJob(), answer);
        if (!checked.reply.failure && !isModuleVarying && !varied()) checked.reply.repeatable = true;
        return checked;
      });
    },
    restore() {
      if (poisoned || memory.buffer.byteLength - startBytes > MAX_GROWTH_BYTES) return false;
      held = Math.max(held, image.restore());
      return true;
    },
    heldBytes: () => held + 2 * image.bytes,
  };
}

/** Evaluates `guestSource`, whose only way to the host is `answerGuest`. */
function bootGuest(
  { context, imports }: { context: QuickJSContext; imports: GuestImports },
  call: () => GuestCall,
): Bridge {
  let garbage = 0;
  const host = context.newFunction('host', (name, json) => {
    const args = context.getString(json);
    const answer = answerGuest(call(), context.getString(name), args);
    garbage += HOST_CALL_BYTES + 2 * (args.length + answer.length);
    // The runtime alone collects so late that a guest could grow the process by hundreds of
    // megabytes.
    if (garbage > COLLECT_BYTES) {
      garbage = 0;
      Bun.gc(true);
    }
    const text = context.newString(answer);
    imports.expected = true;
    return text;
  });
  const boot = context.unwrapResult(context.evalCode(`(${guestSource})`, 'host.js', { type: 'global' }));
  const bridge = context.unwrapResult(context.callFunction(boot, context.undefined, [host]));
  const part = (name: keyof Bridge) => context.getProp(bridge, name);
  return {
    describe: part('describe'),
    prepare: part('prepare'),
    bind: part('bind'),
    inspect: part('inspect'),
    dispatch: part('dispatch'),
    finish: part('finish'),
    objectPrototype: part('objectPrototype'),
    arrayPrototype: part('arrayPrototype'),
  };
}

const newCall = (request: HookRequest): Omit<GuestCall, 'nowMs' | 'nextSeed'> => ({
  console: [],
  consoleLeft: request.consoleBytes,
  consoleBytes: request.consoleBytes,
  unixNow: request.unixNow,
  uuids: 0,
  varies: false,
});

/**
 * What `prepare` of the guest needs before a call: a JSON object without its end. The text of a
 * call is the same for equal calls, so that a guest can tell them apart by the host's answers only.
 */
const encodeStart = (request: HookRequest): string => `{"consoleBytes":${request.consoleBytes}`;

const encodeCall = (request: HookRequest, path: readonly string[]): string =>
  `${encodeStart(request)},"path":${JSON.stringify(path)},"maxResultBytes":${request.maxResultBytes},"args":`;

function checkResult(running: Running, hasPendingJob: boolean, answer: Answer): Answer {
  if (answer.reply.failure) return answer;
  const name = running.request.path?.join('.') ?? '';
  if (hasPendingJob) return fail(running, { kind: 'async', ...sentence('hook.pending', { name }) });
  if (answer.body.length > running.request.maxResultBytes) return tooLarge(running, name);
  return answer;
}

function checkInspected(running: Running, answer: Answer): Answer {
  const { maxResultBytes } = running.request;
  if (answer.reply.failure || answer.body.length <= maxResultBytes) return answer;
  return fail(running, { kind: 'too_large', ...sentence('fault.exports_size', { bytes: maxResultBytes }) });
}

/** Turns the answer of a guest function (see guest-source.ts) into a reply. */
function readAnswer(running: Running, answer: Uint8Array, thrownAs: 'compile' | 'thrown'): Answer {
  const letter = String.fromCharCode(answer[0] ?? 0);
  if (letter === 'v') return { reply: { console: running.call.console }, body: answer.subarray(1) };
  if (letter === 'u') return { reply: { console: running.call.console }, body: NO_BODY };
  const rest = Buffer.from(answer.subarray(1)).toString('utf8');
  switch (letter) {
    case 'n':
      return fail(running, { kind: 'not_callable', message: rest });
    case 'a':
      return fail(running, { kind: 'async', message: rest });
    case 'c':
      return fail(running, { kind: 'codec', message: rest });
    case 'l':
      return tooLarge(running, rest);
    case 't':
    case 'i': {
      const [message = '', stack = ''] = JSON.parse(rest) as string[];
      if (letter === 'i' && message === 'out of memory') return memoryFailure(running);
      if (letter === 'i' && message === 'stack overflow') return stackFailure(running);
      return fail(running, { kind: thrownAs, message, ...findPosition(stack) });
    }
    default:
      // An empty answer: the guest had no memory for one.
      return memoryFailure(running);
  }
}

function fail(running: Running, failure: ReplyFailure): Answer {
  return { reply: { console: running.call.console, failure }, body: NO_BODY };
}
const timeoutFailure = (running: Running): Answer =>
  fail(running, { kind: 'timeout', ...sentence('plugins.time_limit', { ms: running.request.budgetMs }) });

function memoryFailure(running: Running): Answer {
  const { path, memoryBytes } = running.request;
  const max = memoryBytes / MEBIBYTE;
  const said = path === undefined ? sentence('fault.memory_plugin', { max }) : sentence('fault.memory_hook', { max });
  return fail(running, { kind: 'memory', ...said });
}
const stackFailure = (running: Running): Answer =>
  fail(running, {
    kind: 'stack',
    ...sentence('fault.stack', { bytes: GUEST_STACK_BYTES }),
  });
const tooLarge = (running: Running, name: string): Answer =>
  fail(running, {
    kind: 'too_large',
    ...sentence('hook.result_size', { name, bytes: running.request.maxResultBytes }),
  });

/** The first position in the plugin that a QuickJS stack names, 1-based. */
function findPosition(stack: string): { line?: number; column?: number } {
  const found = /plugin\.js:(\d+)(?::(\d+))?/.exec(stack);
  if (!found) return {};
  return { line: Number(found[1]), ...(found[2] === undefined ? {} : { column: Number(found[2]) }) };
}
