/**
 * Calls functions of the guest. `quickjs-emscripten` would decode and encode every text on its way,
 * which takes as long as a short call. Here bytes go into the guest's memory and out of it. Only
 * the largest part of what a call allocates in the guest is freed: the guest is reset after each
 * call.
 */
import type { QuickJSContext, QuickJSHandle } from 'quickjs-emscripten-core';
import { CLOSE_OBJECT } from '../../kernel/index.ts';
import { type EncodeValues, MAX_ENCODED_JSON_BYTES } from './encode-values.ts';
import type { EngineExports, GuestMemory } from './load-engine.ts';
import type { GuestValues, StringifyValues } from './stringify-values.ts';

const POINTER_BYTES = 4;
/** The upper half of an object, whose lower half is its address. */
const OBJECT_TAG = 0xffffffff;
/** The letter by which the guest marks a value. */
const VALUE_LETTER = 0x76;
/** Most bytes of a letter in UTF-8, for one in UTF-16. */
const MAX_LETTER_BYTES = 3;
const NOTHING = new Uint8Array();

/** The text of a call: members of a JSON object, the last one without its value, and the value. */
export type CallText = { start: string; value: Uint8Array };

/**
 * Calls a function of the guest with a value of the guest or that of a text: the guest parses a
 * text that `encodeValues` does not take. Gives the text that the function returned, in UTF-8; of
 * an object its JSON behind the letter of a value. It is lost when the guest, or another one, runs
 * or is reset. Empty where the guest had no memory for it, `undefined` where the function threw.
 */
export type CallFunction = (fn: QuickJSHandle, argument?: CallText | QuickJSHandle) => Uint8Array | undefined;

type Guest = {
  exports: EngineExports;
  memory: GuestMemory;
  engine: { encodeValues: EncodeValues; stringifyValues: StringifyValues };
  /** Gives the JSON of the object that was returned last. */
  finish: QuickJSHandle;
  prototypes: Record<keyof GuestValues['prototypes'], QuickJSHandle>;
};

export function createCallFunction(
  context: QuickJSContext,
  { exports, memory, engine, finish, prototypes }: Guest,
): CallFunction {
  const { encodeValues, stringifyValues } = engine;
  const { ffi, malloc, free, context: readContext } = exports;
  const pointer = readContext();
  const self = context.undefined.value;
  const argv = malloc(POINTER_BYTES) as Parameters<typeof ffi.QTS_Call>[4];
  let view = Buffer.from(memory.buffer);
  /** The memory moves when it grows. */
  const bytes = (): Buffer => {
    if (view.buffer !== memory.buffer) view = Buffer.from(memory.buffer);
    return view;
  };
  const newText = ({ start, value }: CallText): number => {
    const at = malloc(MAX_LETTER_BYTES * start.length + value.length + 2);
    const end = at + writeText({ start, value }, bytes(), at);
    bytes()[end] = 0;
    const text = ffi.QTS_NewString(pointer, at as Parameters<typeof ffi.QTS_NewString>[1]);
    free(at);
    return text;
  };
  /** The value of a text; 0 where the guest must read the text itself. */
  const newValue = (text: CallText): number => {
    if (MAX_LETTER_BYTES * text.start.length + text.value.length >= MAX_ENCODED_JSON_BYTES) return 0;
    const encoded = encodeValues((target) => writeText(text, target, 0));
    if (!encoded) return 0;
    const { names, value } = encoded;
    const length = names.length + value.length;
    const at = malloc(length);
    const target = bytes();
    target.set(names, at);
    target.set(value, at + names.length);
    const buffer = ffi.QTS_NewArrayBuffer(pointer, at as Parameters<typeof ffi.QTS_NewArrayBuffer>[1], length);
    const decoded = ffi.QTS_bjson_decode(pointer, buffer);
    // Out of memory or stack: reading the text fails as well, and says so.
    return ffi.QTS_ResolveException(pointer, decoded) ? 0 : decoded;
  };
  const readAddress = (value: number): number => bytes().readUInt32LE(value);
  const isObject = (value: number): boolean => bytes().readUInt32LE(value + POINTER_BYTES) === OBJECT_TAG;
  const values: GuestValues = {
    memory,
    context: pointer,
    prototypes: { object: readAddress(prototypes.object.value), array: readAddress(prototypes.array.value) },
  };
  const call: CallFunction = (fn, argument) => {
    if (argument) {
      const value = 'start' in argument ? newValue(argument) || newText(argument) : argument.value;
      bytes().writeUInt32LE(value, argv);
    }
    const result = ffi.QTS_Call(pointer, fn.value, self, argument ? 1 : 0, argv);
    if (ffi.QTS_ResolveException(pointer, result)) return undefined;
    if (isObject(result)) return stringifyValues(values, readAddress(result), VALUE_LETTER) ?? call(finish);
    const at: number = ffi.QTS_GetString(pointer, result);
    if (at === 0) return NOTHING;
    const answer = bytes();
    return answer.subarray(at, answer.indexOf(0, at));
  };
  return call;
}

/** Writes the whole text of a call, and gives its length. */
function writeText({ start, value }: CallText, target: Buffer, at: number): number {
  const valueAt = at + target.write(start, at, 'utf8');
  target.set(value, valueAt);
  target[valueAt + value.length] = CLOSE_OBJECT;
  return valueAt + value.length + 1 - at;
}
