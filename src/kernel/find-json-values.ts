/** Finds the values of some paths in JSON text while it passes, without parsing it. */
import { BACKSLASH, CLOSE_ARRAY, CLOSE_OBJECT, COLON, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from './json.ts';
import { measureJsonString, skipJsonString } from './scan-json.ts';

/**
 * A value in a JSON text and its path: `output[].id` is the member `id` of the items of `output`.
 */
export type FoundValue = { path: string; value: string | number };

/**
 * The value that is wanted at a path. `id`: a string, or a number as it is written. `number`: also
 * one that is written as a string. `length`: the bytes of a string in UTF-8, without keeping it.
 * `object`: 1 for each object.
 */
export type WantedValue = 'string' | 'id' | 'number' | 'length' | 'object';

/** Finds values at given paths of a JSON text while its bytes arrive, without parsing the rest. */
export type JsonValueFinder = {
  push(bytes: Uint8Array): void;
  /**
   * Reads a text that is wholly in memory with the runtime's own search and parser, which takes a
   * fraction of the time. False: it is no JSON, or might be read differently; then `push` it.
   */
  readWhole(text: Uint8Array): boolean;
  /** The values found, once the text is complete; nothing for an incomplete text. */
  end(): FoundValue[];
  /**
   * Whether the text may go on after a line break: it has begun, is not complete, and the break is
   * in no string.
   */
  goesOn(): boolean;
  /** Starts over with the next text. */
  reset(): void;
};

/** Longer strings but ids, as encoded in the text, are ignored. */
const MAX_STRING_BYTES = 1024;
/** The most characters of an id. */
export const MAX_ID_CHARS = 2048;
/** A character takes twelve bytes where it is written as two escapes. */
const MAX_ID_BYTES = 12 * MAX_ID_CHARS;
/** Found instead of a longer id. No id has control characters. */
export const TOO_LONG_ID = '\0';
/** Longer numbers are ignored. */
const MAX_NUMBER_BYTES = 32;
/** Longer texts are read as they come: the parser would make all their values. */
const MAX_WHOLE_BYTES = 64 * 1024;
/**
 * The most texts and numbers of one text; later ones are ignored. Objects and lengths beyond as
 * many are summed by path, so that a client that asks for many results hides nothing behind them.
 */
const MAX_FOUND = 10_000;

const NUMBER_BYTES = new Set(Buffer.from('0123456789+-.eE'));
/** Bytes that begin a number: the `e` of `false` does not. */
const NUMBER_STARTS = new Set(Buffer.from('0123456789-'));
const NUMBER = /^\s*-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\s*$/;

type Container = { path: string; isArray: boolean };

/**
 * `wanted`: by path. `a.*` stands for the members of `a` that no other path names. Takes linear
 * time and constant memory, whatever the text holds. It does not check the grammar: in a text that
 * is not JSON it may find something or nothing.
 */
export function createJsonValueFinder(wanted: Readonly<Record<string, WantedValue>>): JsonValueFinder {
  const { wantedAt, containers, root, marks } = planSearch(wanted);

  let stack: Container[] = [];
  /** Nesting levels below the innermost container that may hold a wanted string. */
  let skipped = 0;
  let hasBegun = false;
  let isWhole = false;
  let name: string | undefined;
  let isNameNext = false;
  let isInString = false;
  let isEscaped = false;
  /** Bytes of the current string; `undefined` if it is not wanted. */
  let captured: number[] | undefined;
  /** The path of the current string, where it is an id. */
  let idPath: string | undefined;
  /** Measures the current string; `undefined` if its length is not wanted. */
  let measured: ReturnType<typeof measureJsonString> | undefined;
  let number: { path: string; isId: boolean; bytes: number[] } | undefined;
  let found: FoundValue[] = [];
  let kept = 0;
  let counted = 0;
  /** What was counted beyond the most, by path. */
  let sums = new Map<string, FoundValue & { value: number }>();

  const top = (): Container | undefined => (skipped > 0 ? undefined : stack.at(-1));

  /** The path of the next value; `undefined` where no wanted string can be. */
  function valuePath(): string | undefined {
    const container = top();
    if (!container) return stack.length === 0 ? '' : undefined;
    if (container.isArray) return `${container.path}[]`;
    if (name === undefined) return undefined;
    const prefix = container.path === '' ? '' : `${container.path}.`;
    const path = `${prefix}${name}`;
    return wantedAt.has(path) || containers.has(path) ? path : `${prefix}*`;
  }

  function add(path: string, value: string | number): void {
    const want = wantedAt.get(path);
    if (typeof value === 'number' && (want === 'object' || want === 'length')) addCount(path, value);
    else if (kept < MAX_FOUND) {
      kept += 1;
      found.push({ path, value });
    }
  }

  function forget(): void {
    found = [];
    kept = counted = 0;
    sums = new Map();
  }

  function addCount(path: string, value: number): void {
    const sum = sums.get(path);
    if (sum) sum.value += value;
    else if (counted < MAX_FOUND) {
      counted += 1;
      found.push({ path, value });
    } else {
      const first = { path, value };
      sums.set(path, first);
      found.push(first);
    }
  }

  function open(isArray: boolean): void {
    const path = valuePath();
    hasBegun = true;
    if (!isArray && path !== undefined && wantedAt.get(path) === 'object') add(path, 1);
    if (skipped > 0 || path === undefined || !containers.has(path)) skipped += 1;
    else {
      stack.push({ path, isArray });
      isNameNext = !isArray;
    }
    name = undefined;
  }

  function close(): void {
    if (skipped > 0) skipped -= 1;
    else stack.pop();
    isNameNext = false;
  }

  function endString(): void {
    isInString = false;
    const text = captured ? readString(captured) : measured?.bytes();
    captured = measured = undefined;
    if (isNameNext && top()) {
      name = typeof text === 'string' ? text : undefined;
      return;
    }
    const path = valuePath();
    if (text === undefined || path === undefined) return;
    if (wantedAt.get(path) !== 'number') add(path, text);
    else if (typeof text === 'string' && text.length <= MAX_NUMBER_BYTES && NUMBER.test(text)) addNumber(path, text);
  }

  function addNumber(path: string, text: string): void {
    const value = Number(text);
    if (Number.isFinite(value)) add(path, value);
  }

  function beginString(): void {
    isInString = true;
    const path = isNameNext ? undefined : valuePath();
    const want = path === undefined ? undefined : wantedAt.get(path);
    idPath = want === 'id' ? path : undefined;
    const isKept = want === 'id' || want === 'string' || want === 'number';
    captured = (isNameNext && top() !== undefined) || isKept ? [] : undefined;
    measured = want === 'length' ? measureJsonString() : undefined;
  }

  function beginNumber(byte: number): void {
    const path = isNameNext ? undefined : valuePath();
    const want = path === undefined ? undefined : wantedAt.get(path);
    if (path !== undefined && (want === 'number' || want === 'id'))
      number = { path, isId: want === 'id', bytes: [byte] };
  }

  /** False: the byte is not part of the number, which ends before it. */
  function readNumberByte(current: NonNullable<typeof number>, byte: number): boolean {
    const { path, isId, bytes } = current;
    const max = isId ? MAX_ID_CHARS : MAX_NUMBER_BYTES;
    if (NUMBER_BYTES.has(byte)) {
      if (bytes.length <= max) bytes.push(byte);
      return true;
    }
    const isWhole = bytes.length <= max;
    const text = Buffer.from(bytes).toString();
    if (isId) add(path, isWhole ? text : TOO_LONG_ID);
    else if (isWhole) addNumber(path, text);
    number = undefined;
    return false;
  }

  /** Returns the index after the bytes that were read. */
  function readStringBytes(bytes: Uint8Array, from: number): number {
    let at = from;
    if (!captured) {
      const skipped = skipJsonString(bytes, at, isEscaped);
      isEscaped = skipped.isEscaped;
      measured?.push(bytes, at, skipped.isClosed ? skipped.next - 1 : skipped.next);
      if (skipped.isClosed) endString();
      return skipped.next;
    }
    for (; at < bytes.length; at += 1) {
      const byte = bytes[at] as number;
      if (!isEscaped && byte === QUOTE) {
        endString();
        return at + 1;
      }
      isEscaped = !isEscaped && byte === BACKSLASH;
      captured.push(byte);
      if (captured.length > (idPath === undefined ? MAX_STRING_BYTES : MAX_ID_BYTES)) {
        if (idPath !== undefined) add(idPath, TOO_LONG_ID);
        captured = undefined;
        return at + 1;
      }
    }
    return at;
  }

  const isComplete = () => isWhole || (hasBegun && stack.length === 0 && skipped === 0 && !isInString);

  return {
    push(bytes) {
      for (let at = 0; at < bytes.length; ) {
        if (isInString) {
          at = readStringBytes(bytes, at);
          continue;
        }
        const byte = bytes[at] as number;
        at += 1;
        if (number && readNumberByte(number, byte)) continue;
        if (byte === QUOTE) beginString();
        else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) open(byte === OPEN_ARRAY);
        else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) close();
        else if (byte === COLON) isNameNext = false;
        else if (byte === COMMA && top()) {
          isNameNext = !(top() as Container).isArray;
          name = undefined;
        } else if (NUMBER_STARTS.has(byte)) beginNumber(byte);
      }
    },
    readWhole(bytes) {
      if (hasBegun || isWhole || bytes.length > MAX_WHOLE_BYTES || marks === undefined) return false;
      const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      // A name may be written with escapes.
      if (marks.length <= MAX_MARKS || root === undefined) {
        isWhole = !marks.some((mark) => text.includes(mark)) && !text.includes(ESCAPE);
        if (isWhole || root === undefined) return isWhole;
      }
      try {
        collect(JSON.parse(text.toString('utf8')), root, add);
        isWhole = true;
      } catch {
        forget();
      }
      return isWhole;
    },
    end: () => (isComplete() ? found : []),
    goesOn: () => hasBegun && !isInString && !isComplete(),
    reset() {
      stack = [];
      skipped = 0;
      hasBegun = isWhole = isNameNext = isInString = isEscaped = false;
      name = captured = idPath = measured = number = undefined;
      forget();
    },
  };
}

/** A node of the search: what a value gives, its members (`any`: by any name) and its items. */
type WantedNode = {
  path: string;
  want: WantedValue | undefined;
  members: Map<string, WantedNode>;
  any?: WantedNode;
  items?: WantedNode;
};

type SearchPlan = {
  wantedAt: ReadonlyMap<string, WantedValue>;
  containers: ReadonlySet<string>;
  /** Undefined where numbers are wanted as they are written, which the parser does not keep. */
  root: WantedNode | undefined;
  /** A text without these has nothing that is wanted; undefined: it may have it under any name. */
  marks: readonly string[] | undefined;
};

const ESCAPE = '\\u';
/** Looking for more names takes longer than parsing. */
const MAX_MARKS = 4;
/** Callers pass the same object for all texts of a kind, so a plan is made once. */
const plans = new WeakMap<object, SearchPlan>();

function planSearch(wanted: Readonly<Record<string, WantedValue>>): SearchPlan {
  const known = plans.get(wanted);
  if (known) return known;
  const paths = Object.keys(wanted);
  const names = [...new Set(paths.map((path) => path.split(/[.[]/, 1)[0] ?? ''))];
  const plan: SearchPlan = {
    wantedAt: new Map(Object.entries(wanted)),
    containers: new Set(['', ...paths.flatMap(listPrefixes)]),
    root: Object.values(wanted).includes('id') ? undefined : buildWantedTree(wanted),
    marks: names.includes('') || names.includes('*') ? undefined : names.map((name) => JSON.stringify(name)),
  };
  plans.set(wanted, plan);
  return plan;
}

function buildWantedTree(wanted: Readonly<Record<string, WantedValue>>): WantedNode {
  const create = (path: string): WantedNode => ({ path, want: wanted[path], members: new Map() });
  const root = create('');
  for (const path of Object.keys(wanted)) {
    let node = root;
    for (const [step = ''] of path.matchAll(/\[\]|[^.[]+/g)) {
      if (step === '[]') node = node.items ??= create(`${node.path}[]`);
      else {
        const next = node.path === '' ? step : `${node.path}.${step}`;
        if (step === '*') node = node.any ??= create(next);
        else {
          const member: WantedNode = node.members.get(step) ?? create(next);
          node.members.set(step, member);
          node = member;
        }
      }
    }
  }
  return root;
}

/** Finds in a parsed value what the bytes of its text would be searched for. */
function collect(value: unknown, node: WantedNode, add: (path: string, value: string | number) => void): void {
  const { path, want, members, any, items } = node;
  if (typeof value === 'string') {
    if (want === 'length') add(path, Buffer.byteLength(value));
    else if (want === 'string' && Buffer.byteLength(value) <= MAX_STRING_BYTES) add(path, value);
    else if (want === 'number' && value.length <= MAX_NUMBER_BYTES && NUMBER.test(value))
      collect(Number(value), node, add);
  } else if (typeof value === 'number') {
    if (want === 'number' && Number.isFinite(value)) add(path, value);
  } else if (Array.isArray(value)) {
    if (items) for (const item of value) collect(item, items, add);
  } else if (value !== null && typeof value === 'object') {
    if (want === 'object') add(path, 1);
    if (members.size === 0 && any === undefined) return;
    for (const name in value) {
      const member = members.get(name) ?? any;
      if (member) collect((value as Record<string, unknown>)[name], member, add);
    }
  }
}

/** `a.b[].c` → `a`, `a.b`, `a.b[]`. */
function listPrefixes(path: string): string[] {
  const ends = [...path.matchAll(/\.|\[\]/g)].flatMap(({ index, 0: mark }) =>
    mark === '.' ? [index] : [index, index + mark.length],
  );
  return ends.map((end) => path.slice(0, end));
}

function readString(bytes: readonly number[]): string | undefined {
  try {
    const text: unknown = JSON.parse(`"${Buffer.from(bytes).toString('utf8')}"`);
    return typeof text === 'string' ? text : undefined;
  } catch {
    return undefined;
  }
}
