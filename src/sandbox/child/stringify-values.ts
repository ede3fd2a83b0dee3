/**
 * Writes a guest's values as JSON by reading its memory, which takes a fifth of the time of its
 * `JSON.stringify`. It takes what certainly needs no code of the plugin: plain objects and arrays,
 * whose prototypes are the original ones and have no `toJSON`, with members that are values of
 * JSON.
 *
 * The guest may have written whatever it likes into its memory. Each read is within it (beyond its
 * end a typed array gives `undefined`), lengths are compared with what there is, and depth, members
 * and bytes are bounded. The worst is a wrong result, which the guest could return as well.
 */
import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  MINUS,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  ZERO,
} from '../../kernel/index.ts';

/**
 * How QuickJS (release 2025-09-13, 32 bits) lays out values in its memory. `W` names are in words
 * of 4 bytes from the start of a structure. A test compares what is read here with what the
 * engine's own `JSON.stringify` says.
 */
const W_OBJECT_FLAGS = 1;
const W_OBJECT_SHAPE = 5;
const W_OBJECT_PROPERTIES = 6;
const W_ARRAY_VALUES = 9;
const W_ARRAY_COUNT = 10;
const W_SHAPE_COUNT = 8;
const W_SHAPE_PROTOTYPE = 11;
const W_SHAPE_MEMBERS = 12;
const W_STRING_LENGTH = 1;
const W_STRING_TYPE = 2;
const STRING_BYTES = 16;
const W_CONTEXT_RUNTIME = 4;
const W_RUNTIME_NAME_COUNT = 11;
const W_RUNTIME_NAMES = 14;

/** Type tags, which stand in the upper 32 bits of a value. */
const TAG = { integer: 0, boolean: 1, null: 2, undefined: 3, string: 0xfffffff9, object: 0xffffffff };
/** The tags are the numbers from -9 to 7. Any other upper word belongs to a float. */
const FIRST_TAG = -9;
const TAGS = 17;
/** Added to the upper word of a float, so that it is not a tag. */
const FLOAT_OFFSET = 0x7ff8000a;

const CLASS = { object: 1, array: 2 };
/** Bits of an object's flags: `exotic` objects and `falsy` ones have a behaviour of their own. */
const FLAG = { exotic: 0x04, list: 0x08, falsy: 0x80 };
/** Bits of a member's flags. */
const ENUMERABLE = 4;
const NOT_A_VALUE = 0x30;
/** The number of the name `toJSON`: the engine has it from its start. */
const TO_JSON = 0x9e;
/** A name from here on is an index. */
const FIRST_INDEX = 0x80000000;
const TYPE_OF_STRINGS = 1;
const IS_WIDE = 0x80000000;

/** Longer JSON is left to the guest: its values are few and long, and this memory is kept. */
export const MAX_STRINGIFIED_BYTES = 256 * 1024;
/** Deeper values are left to the guest, whose stack decides. */
const MAX_DEPTH = 128;
/** Members that are looked at, shown or not. */
const MAX_MEMBERS = 200_000;
/** Below it strings are copied byte by byte, which is faster than a call of the runtime. */
const SHORT_BYTES = 32;
/** Names of members that are recognised when they come again; a power of two. */
const NAME_SLOTS = 512;
/** An integer, or a word, and what stands around it. */
const SCALAR_BYTES = 32;
/** Room for brackets, commas and colons between two looks at the limit. */
const SPARE_BYTES = 2 * MAX_DEPTH + SCALAR_BYTES;

/**
 * A guest, and addresses in its memory: its context, and the prototypes of objects and arrays that
 * it began with.
 */
export type GuestValues = {
  memory: WebAssembly.Memory;
  context: number;
  prototypes: { object: number; array: number };
};

/**
 * The JSON of a guest's object at `address`, after `prefix`, a letter of ASCII. The next call
 * overwrites it. `undefined` where the guest's own `JSON.stringify` must say: it may run code of
 * the plugin, fail, or order members by number.
 */
export type StringifyValues = (guest: GuestValues, address: number, prefix: number) => Uint8Array | undefined;

export function createStringifyValues(): StringifyValues {
  const out = Buffer.allocUnsafeSlow(MAX_STRINGIFIED_BYTES + SPARE_BYTES);
  const slots = {
    name: new Uint32Array(NAME_SLOTS),
    at: new Int32Array(NAME_SLOTS),
    length: new Int32Array(NAME_SLOTS),
  };
  const number = new Float64Array(1);
  const numberWords = new Uint32Array(number.buffer);
  let bytes = Buffer.alloc(0);
  let words = new Uint32Array(0);
  let prototypes: GuestValues['prototypes'];
  let names = 0;
  let nameCount = 0;
  let end = 0;
  let membersLeft = 0;

  const word = (address: number, offset: number): number => (words[(address >>> 2) + offset] as number) >>> 0;

  const putText = (text: string): boolean => {
    if (end + 3 * text.length > MAX_STRINGIFIED_BYTES) return false;
    end += out.write(text, end, 'utf8');
    return true;
  };
  const putInteger = (value: number): void => {
    let rest = value;
    if (rest < 0) {
      out[end++] = MINUS;
      rest = -rest;
    }
    let digits = 1;
    for (let bound = 10; rest >= bound; bound *= 10) digits++;
    end += digits;
    for (let at = end - 1; digits > 0; digits--) {
      out[at--] = ZERO + (rest % 10);
      rest = Math.floor(rest / 10);
    }
  };
  const putFloat = (low: number, high: number): boolean => {
    numberWords[0] = low;
    numberWords[1] = (high + FLOAT_OFFSET) >>> 0;
    const value = number[0] as number;
    return putText(Number.isFinite(value) ? String(value) : 'null');
  };
  /** Writes the string at `address` in quotes. */
  const putString = (address: number): boolean => {
    const described = word(address, W_STRING_LENGTH);
    const isWide = described >= IS_WIDE;
    const length = isWide ? described - IS_WIDE : described;
    const from = address + STRING_BYTES;
    const to = from + (isWide ? 2 : 1) * length;
    if (to > bytes.length || end + length + SCALAR_BYTES > MAX_STRINGIFIED_BYTES) return false;
    if (isWide) return putText(JSON.stringify(bytes.toString('utf16le', from, to)));
    if (!isPlain(from, to)) return putText(JSON.stringify(bytes.toString('latin1', from, to)));
    out[end++] = QUOTE;
    if (length < SHORT_BYTES) for (let at = from; at < to; at++) out[end++] = bytes[at] as number;
    else end += bytes.copy(out, end, from, to);
    out[end++] = QUOTE;
    return true;
  };
  /** Whether these letters are ASCII, and JSON escapes none of them. */
  const isPlain = (from: number, to: number): boolean => {
    const letters = bytes;
    for (let at = from; at < to; at++) {
      const letter = letters[at] as number;
      if (letter < 0x20 || letter > 0x7f || letter === QUOTE || letter === BACKSLASH) return false;
    }
    return true;
  };
  /** Writes a name and the colon. False for names that the guest must order or leave out itself. */
  const putName = (name: number): boolean => {
    const slot = name & (NAME_SLOTS - 1);
    const start = end;
    if (slots.name[slot] === name) {
      const from = slots.at[slot] as number;
      const to = from + (slots.length[slot] as number);
      if (end + to - from > MAX_STRINGIFIED_BYTES) return false;
      if (to - from < SHORT_BYTES) for (let at = from; at < to; at++) out[end++] = out[at] as number;
      else end += out.copy(out, end, from, to);
      return true;
    }
    if (name === TO_JSON || name >= nameCount) return false;
    const address = word(names, name);
    if (word(address, W_STRING_TYPE) >>> 30 !== TYPE_OF_STRINGS || !putString(address)) return false;
    if (isIndex(start + 1, end - 1)) return false;
    out[end++] = COLON;
    slots.name[slot] = name;
    slots.at[slot] = start;
    slots.length[slot] = end - start;
    return true;
  };
  /** Names that may be numbers, which come before all others. */
  const isIndex = (from: number, to: number): boolean => {
    for (let at = from; at < to; at++) {
      const digit = (out[at] as number) - ZERO;
      if (digit < 0 || digit > 9) return false;
    }
    return from < to;
  };
  const putValue = (low: number, high: number, depth: number): boolean => {
    if (end + SCALAR_BYTES > MAX_STRINGIFIED_BYTES) return false;
    switch (high) {
      case TAG.string:
        return putString(low);
      case TAG.object:
        return putObject(low, depth);
      case TAG.integer:
        putInteger(low | 0);
        return true;
      case TAG.boolean:
        return putText(low === 0 ? 'false' : 'true');
      case TAG.null:
        return putText('null');
      default:
        return (high - FIRST_TAG) >>> 0 >= TAGS && putFloat(low, high);
    }
  };
  const putObject = (address: number, depth: number): boolean => {
    if (depth === MAX_DEPTH) return false;
    const flags = word(address, W_OBJECT_FLAGS);
    const shape = word(address, W_OBJECT_SHAPE);
    const prototype = word(shape, W_SHAPE_PROTOTYPE);
    switch (flags >>> 16) {
      case CLASS.object:
        if (flags & ((FLAG.exotic | FLAG.falsy) << 8)) return false;
        return (prototype === prototypes.object || prototype === 0) && putMembers(address, shape, depth);
      case CLASS.array:
        return prototype === prototypes.array && (flags & (FLAG.list << 8)) !== 0 && putItems(address, shape, depth);
      default:
        return false;
    }
  };
  const putMembers = (address: number, shape: number, depth: number): boolean => {
    const count = word(shape, W_SHAPE_COUNT);
    membersLeft -= count;
    if (membersLeft < 0) return false;
    let member = (shape >>> 2) + W_SHAPE_MEMBERS;
    let value = word(address, W_OBJECT_PROPERTIES) >>> 2;
    out[end++] = OPEN_OBJECT;
    const start = end;
    for (let i = 0; i < count; i++, member += 2, value += 2) {
      const flags = (words[member] as number) >>> 26;
      const name = words[member + 1] as number;
      if (name === TO_JSON || name >= FIRST_INDEX) return false;
      // Deleted, or not shown.
      if (name === 0 || (flags & ENUMERABLE) === 0) continue;
      if (flags & NOT_A_VALUE) return false;
      const high = words[value + 1] as number;
      if (high === TAG.undefined) continue;
      if (end > start) out[end++] = COMMA;
      if (!putName(name) || !putValue(words[value] as number, high, depth + 1)) return false;
    }
    out[end++] = CLOSE_OBJECT;
    return true;
  };
  /** The items of an array without gaps, which has no members but its length. */
  const putItems = (address: number, shape: number, depth: number): boolean => {
    const count = word(address, W_ARRAY_COUNT);
    const lengthAt = word(address, W_OBJECT_PROPERTIES);
    if (word(shape, W_SHAPE_COUNT) !== 1 || word(lengthAt, 0) !== count || word(lengthAt, 1) !== TAG.integer)
      return false;
    let value = word(address, W_ARRAY_VALUES) >>> 2;
    out[end++] = OPEN_ARRAY;
    for (let i = 0; i < count; i++, value += 2) {
      if (i > 0) out[end++] = COMMA;
      const high = words[value + 1] as number;
      if (!putValue(words[value] as number, high === TAG.undefined ? TAG.null : high, depth + 1)) return false;
    }
    out[end++] = CLOSE_ARRAY;
    return true;
  };
  /** Whether the original prototypes are still such that no object inherits a `toJSON`. */
  const arePlain = ({ object, array }: GuestValues['prototypes']): boolean =>
    inheritsFrom(object, 0) && inheritsFrom(array, object);
  const inheritsFrom = (address: number, prototype: number): boolean => {
    const shape = word(address, W_OBJECT_SHAPE);
    const count = word(shape, W_SHAPE_COUNT);
    membersLeft -= count;
    if (word(shape, W_SHAPE_PROTOTYPE) !== prototype || membersLeft < 0) return false;
    for (let i = 0; i < count; i++) if (word(shape, W_SHAPE_MEMBERS + 2 * i + 1) === TO_JSON) return false;
    return true;
  };

  return (guest, address, prefix) => {
    if (bytes.buffer !== guest.memory.buffer) {
      bytes = Buffer.from(guest.memory.buffer);
      words = new Uint32Array(guest.memory.buffer);
    }
    prototypes = guest.prototypes;
    const runtime = word(guest.context, W_CONTEXT_RUNTIME);
    names = word(runtime, W_RUNTIME_NAMES);
    nameCount = word(runtime, W_RUNTIME_NAME_COUNT);
    slots.name.fill(0);
    membersLeft = MAX_MEMBERS;
    end = 0;
    out[end++] = prefix;
    return arePlain(prototypes) && putObject(address, 0) ? out.subarray(0, end) : undefined;
  };
}
