import type { QuickJSContext, QuickJSHandle, QuickJSRuntime } from 'quickjs-emscripten-core';
import type { HookRequest, Reply, ReplyFailure } from '../frames.ts';
import { answerGuest, type GuestCall } from './answer-guest.ts';
import { guestSource } from './guest-source.ts';
import type { Engine } from './load-engine.ts';
import { captureImage, type MemoryImage } from './memory-image.ts';

/** Stack of a guest in bytes; the host's own stack is several times that. */
const GUEST_STACK_BYTES = 262_144;
/**
 * An instance whose memory grew by more than this is dropped: clearing it would cost more than
 * loading anew.
 */
const MAX_GROWTH_BYTES = 16 * 1024 * 1024;
/**
 * What the library leaves behind per host call (measured), and how much of that and of copied text
 * may pile up.
 */
const HOST_CALL_BYTES = 4_096;
const COLLECT_BYTES = 16 * 1024 * 1024;
const PLUGIN_FILE = 'plugin.js';
const MEBIBYTE = 1024 * 1024;

/** What a request comes to: the reply's head without its id, and its body. */
export type Answer = { reply: Omit<Reply, 'id'>; body: string };

/** One plugin, loaded. Every call starts from the state it had after loading. */
export interface Guest {
  /**
   * `args` is a JSON array; `until` the deadline on the process's monotonic clock. Never throws.
   */
  run(request: HookRequest, args: string, until: number): Answer;
  /** Brings back the loaded state; false when this guest must not be used again. */
  restore(): boolean;
  /** Bytes of memory that the guest holds at the most. */
  heldBytes(): number;
}

/** Failures that a lack of memory may have caused. */
const FOLLOWS: ReadonlySet<ReplyFailure['kind']> = new Set(['thrown', 'compile', 'codec']);

type Running = { request: HookRequest; call: GuestCall; until: number; interrupted: boolean };
type Bridge = Record<'describe' | 'prepare' | 'bind' | 'inspect' | 'dispatch', QuickJSHandle>;

/** The process's own clock in ms. */
export type MonotonicMs = () => number;

/** Loads a plugin's source within the request's deadline, or tells why it does not load. */
export async function openGuest(
  engine: Engine,
  source: string,
  request: HookRequest,
  until: number,
  monotonicMs: MonotonicMs,
): Promise<Guest | Answer> {
  const { quickjs, memory } = await engine.open(request.memoryBytes);
  const runtime = quickjs.newRuntime({ maxStackSizeBytes: GUEST_STACK_BYTES });
  const context = runtime.newContext();
  const begin = (next: HookRequest, deadline: number): Running => {
    memory.ranOut = false;
    return { request: next, call: newCall(next), until: deadline, interrupted: false };
  };
  let running = begin(request, until);
  const bridge = bootGuest(context, () => running.call);
  // From here on: what was the host's own ends by itself, and broken off it would end the process.
  runtime.setInterruptHandler(() => {
    if (monotonicMs() >= running.until) running.interrupted = true;
    return running.interrupted;
  });
  // What goes wrong on the host's side of a guest call leaves the instance in no known state.
  let poisoned = false;
  const guarded = (act: () => Answer): Answer => {
    try {
      const answer = act();
      if (running.interrupted) return fail(running, 'timeout', timeoutMessage(running));
      // Without memory the engine throws null, and what the plugin then throws itself only follows
      // from that.
      const { failure } = answer.reply;
      return failure && memory.ranOut && FOLLOWS.has(failure.kind) ? memoryFailure(running) : answer;
    } catch (error) {
      poisoned = true;
      if (running.interrupted) return fail(running, 'timeout', timeoutMessage(running));
      return error instanceof RangeError ? stackFailure(running) : memoryFailure(running);
    }
  };
  const ask = (fn: QuickJSHandle, args: QuickJSHandle[], thrownAs: 'compile' | 'thrown'): Answer => {
    const result = context.callFunction(fn, context.undefined, args);
    if (!result.error) return readAnswer(running, context.getString(result.value), thrownAs);
    // The guest could not even describe its error: it is at the end of its memory or of its stack.
    return memory.ranOut ? memoryFailure(running) : stackFailure(running);
  };

  const loaded = guarded(() => {
    context.callFunction(bridge.prepare, context.undefined, [context.newString(`{${encodeStart(request)}}`)]);
    const evaluated = context.evalCode(source, PLUGIN_FILE, { type: 'module', strict: true });
    if (evaluated.error) return ask(bridge.describe, [evaluated.error], 'compile');
    const state = context.getPromiseState(evaluated.value);
    if (state.type === 'rejected') return ask(bridge.describe, [state.error], 'compile');
    if (state.type === 'pending') return fail(running, 'async', 'the module awaits at its top level');
    if (runtime.hasPendingJob()) return fail(running, 'async', 'the module leaves a promise pending');
    context.callFunction(bridge.bind, context.undefined, [state.value]);
    return { reply: { console: running.call.console }, body: '' };
  });
  if (loaded.reply.failure) return loaded;

  const startBytes = memory.buffer.byteLength;
  const image: MemoryImage = captureImage(memory, engine.layout);
  let held = 0;
  return {
    run(next, args, deadline) {
      running = begin(next, deadline);
      return guarded(() => {
        if (next.path === undefined) return ask(bridge.inspect, [], 'compile');
        const input = context.newString(encodeCall(next, next.path, args));
        return checkResult(running, runtime, next.path, ask(bridge.dispatch, [input], 'thrown'));
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

/** Evaluates the guest's own part, with one door to the host (`answerGuest`). */
function bootGuest(context: QuickJSContext, call: () => GuestCall): Bridge {
  let garbage = 0;
  const host = context.newFunction('host', (name, json) => {
    const asked = context.getString(json);
    const answer = answerGuest(call(), context.getString(name), asked);
    garbage += HOST_CALL_BYTES + 2 * (asked.length + answer.length);
    // Left to itself the runtime collects so late that a guest could make the process grow by
    // hundreds of megabytes.
    if (garbage > COLLECT_BYTES) {
      garbage = 0;
      Bun.gc(true);
    }
    return context.newString(answer);
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
  };
}

const newCall = (request: HookRequest): GuestCall => ({
  console: [],
  consoleLeft: request.consoleBytes,
  consoleBytes: request.consoleBytes,
  unixNow: request.unixNow,
  uuids: 0,
});

/** Where `Math.random` starts: from the system's random numbers, or for a fixture from its time. */
const seedOf = (request: HookRequest): number[] =>
  request.unixNow === undefined
    ? [...crypto.getRandomValues(new Int32Array(3))]
    : [request.unixNow | 0, Math.floor(request.unixNow / 2 ** 32), 1];

/** What the guest starts a call from, as members of a JSON object. */
const encodeStart = (request: HookRequest): string =>
  `"seed":[${seedOf(request).join()}],"consoleBytes":${request.consoleBytes},` +
  (request.unixNow === undefined
    ? `"nowMs":${request.nowMs},"frozen":false`
    : `"nowMs":${request.unixNow * 1000},"frozen":true`);

const encodeCall = (request: HookRequest, path: readonly string[], args: string): string =>
  `{${encodeStart(request)},"path":${JSON.stringify(path)},"maxResultBytes":${request.maxResultBytes},"args":${args}}`;

function checkResult(running: Running, runtime: QuickJSRuntime, path: readonly string[], answer: Answer): Answer {
  if (answer.reply.failure) return answer;
  const name = path.join('.');
  if (runtime.hasPendingJob()) return fail(running, 'async', `${name} left a promise pending; hooks are synchronous`);
  if (Buffer.byteLength(answer.body) > running.request.maxResultBytes) return tooLarge(running, name);
  return answer;
}

/** Turns what a guest function answered (see guest-source.ts) into a reply. */
function readAnswer(running: Running, answer: string, thrownAs: 'compile' | 'thrown'): Answer {
  const rest = answer.slice(1);
  switch (answer[0]) {
    case 'v':
      return { reply: { console: running.call.console }, body: rest };
    case 'u':
      return { reply: { console: running.call.console }, body: '' };
    case 'n':
      return fail(running, 'not_callable', rest);
    case 'a':
      return fail(running, 'async', rest);
    case 'c':
      return fail(running, 'codec', rest);
    case 'l':
      return tooLarge(running, rest);
    case 't':
    case 'i': {
      const [message = '', stack = ''] = JSON.parse(rest) as string[];
      if (answer[0] === 'i' && message === 'out of memory') return memoryFailure(running);
      if (answer[0] === 'i' && message === 'stack overflow') return stackFailure(running);
      return fail(running, thrownAs, message, stack);
    }
    default:
      // Only a guest without memory for its answer gives none.
      return memoryFailure(running);
  }
}

function fail(running: Running, kind: ReplyFailure['kind'], message: string, stack = ''): Answer {
  return { reply: { console: running.call.console, failure: { kind, message, ...findPosition(stack) } }, body: '' };
}
const timeoutMessage = (running: Running): string => `did not end within the limit of ${running.request.budgetMs} ms`;
function memoryFailure(running: Running): Answer {
  const { path, memoryBytes } = running.request;
  const what = path === undefined ? 'plugin' : 'hook';
  return fail(running, 'memory', `out of memory: the ${what} used more than ${memoryBytes / MEBIBYTE} MB`);
}
const stackFailure = (running: Running): Answer =>
  fail(running, 'stack', `nested deeper than the stack limit of ${GUEST_STACK_BYTES} bytes allows`);
const tooLarge = (running: Running, name: string): Answer =>
  fail(running, 'too_large', `the result of ${name} is over the limit of ${running.request.maxResultBytes} bytes`);

/** The first place in the plugin that a QuickJS stack names, 1-based. */
function findPosition(stack: string): { line?: number; column?: number } {
  const found = /plugin\.js:(\d+)(?::(\d+))?/.exec(stack);
  if (!found) return {};
  return { line: Number(found[1]), ...(found[2] === undefined ? {} : { column: Number(found[2]) }) };
}
