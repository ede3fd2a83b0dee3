import type { QuickJSContext, QuickJSHandle } from 'quickjs-emscripten-core';
import type { EngineExports, GuestMemory } from './load-engine.ts';

/** The last letter of a call's text, after which the engine expects a zero. */
const CLOSING_BRACE = 0x7d;
const POINTER_BYTES = 4;
const NOTHING = new Uint8Array();

/** The text of a call: members of a JSON object, the last one without its value, and the value. */
export type CallText = { start: string; value: Uint8Array };

/**
 * Calls a function of the guest with a text or a value of the guest. Gives the text that it
 * returned, in UTF-8, as a part of the guest's memory: it is lost when the guest runs or is reset.
 * Empty where the guest had no memory for it, `undefined` where the function threw.
 */
export type CallGuest = (fn: QuickJSHandle, argument?: CallText | QuickJSHandle) => Uint8Array | undefined;

/**
 * The library would decode and encode every text on its way, which takes as long as a short call.
 * Here bytes go into the guest's memory and out of it. Of what a call allocates in the guest only
 * the largest part is freed: the guest is reset after each call.
 */
export function createCallGuest(
  context: QuickJSContext,
  { ffi, malloc, free, context: contextOf }: EngineExports,
  memory: GuestMemory,
): CallGuest {
  const pointer = contextOf();
  const self = context.undefined.value;
  const argv = malloc(POINTER_BYTES) as Parameters<typeof ffi.QTS_Call>[4];
  let view = Buffer.from(memory.buffer);
  /** The memory moves when it grows. */
  const bytes = (): Buffer => {
    if (view.buffer !== memory.buffer) view = Buffer.from(memory.buffer);
    return view;
  };
  const newText = ({ start, value }: CallText): number => {
    const at = malloc(3 * start.length + value.length + 2);
    const target = bytes();
    const valueAt = at + target.write(start, at, 'utf8');
    target.set(value, valueAt);
    target[valueAt + value.length] = CLOSING_BRACE;
    target[valueAt + value.length + 1] = 0;
    const text = ffi.QTS_NewString(pointer, at as Parameters<typeof ffi.QTS_NewString>[1]);
    free(at);
    return text;
  };
  return (fn, argument) => {
    if (argument) {
      const value = 'start' in argument ? newText(argument) : argument.value;
      bytes().writeUInt32LE(value, argv);
    }
    const result = ffi.QTS_Call(pointer, fn.value, self, argument ? 1 : 0, argv);
    if (ffi.QTS_ResolveException(pointer, result)) return undefined;
    const at: number = ffi.QTS_GetString(pointer, result);
    if (at === 0) return NOTHING;
    const answer = bytes();
    return answer.subarray(at, answer.indexOf(0, at));
  };
}
