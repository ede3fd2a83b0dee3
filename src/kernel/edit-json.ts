/** Reads and changes members of a JSON text in place, so that the rest stays as it is written. */
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  CURLY,
  endOfString,
  isObject,
  type Json,
  MINUS,
  NINE,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  ZERO,
} from './json.ts';

/** A member of an object in JSON text, by indexes. `start`: of its name. `end`: after its value. */
export type JsonMember = { name: string; start: number; value: number; end: number };

/** Members are undefined to be removed; an object is merged into the one that is there. */
export type JsonChanges = { readonly [name: string]: Json | undefined | JsonChanges };

/** The members of an object, and how many names there are in it at any depth. */
type ReadObject = { members: JsonMember[]; names: number };

/** Longer than any name that is looked for, with each character escaped. */
const MAX_NAME = 512;

/**
 * Reads the members of the object in `text`, which a parser has accepted. Takes linear time, and
 * reads no value.
 */
export function readJsonMembers(text: string): ReadObject {
  const members: JsonMember[] = [];
  let names = 0;
  let depth = 0;
  let key: { name: string; start: number; value: number } | undefined;
  let isNameNext = false;
  /** After the last character of the current value that is not a space. */
  let end = 0;
  const endMember = (): void => {
    if (key) members.push({ ...key, end });
    key = undefined;
  };
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code <= 0x20) continue;
    if (code === QUOTE) {
      const close = endOfString(text, at);
      if (isNameNext) {
        key = { name: nameIn(text, at, close), start: at, value: -1 };
        isNameNext = false;
      } else if (key && key.value === -1) key.value = at;
      at = close;
      end = at + 1;
      continue;
    }
    if (code === COLON) {
      names += 1;
      continue;
    }
    if (depth === 1 && (code === COMMA || code === CLOSE_OBJECT)) {
      endMember();
      isNameNext = code === COMMA;
    } else if (key && key.value === -1) key.value = at;
    if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      depth += 1;
      if (depth === 1) isNameNext = true;
    } else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) depth -= 1;
    end = at + 1;
  }
  return { members, names };
}

/** A name as it is meant; a long one as it stands, since nothing looks for it. */
function nameIn(text: string, start: number, close: number): string {
  const raw = text.slice(start + 1, close);
  return raw.length <= MAX_NAME && raw.includes('\\') ? (JSON.parse(`"${raw}"`) as string) : raw;
}

/**
 * Changes members of the object in `text` and leaves all other characters as they are: the spelling
 * of numbers, the order of members, spaces. Takes linear time.
 */
export function editJson(text: string, changes: JsonChanges): string {
  const { members } = readJsonMembers(text);
  const pieces: string[] = [];
  const added = new Set(Object.keys(changes).filter((name) => changes[name] !== undefined));
  let at = 0;
  let keepsAny = false;
  for (const [index, { name, start, value, end }] of members.entries()) {
    const isChanged = Object.hasOwn(changes, name);
    const change = isChanged ? changes[name] : undefined;
    if (isChanged && change === undefined) {
      const previous = keepsAny ? members[index - 1] : undefined;
      pieces.push(text.slice(at, previous?.end ?? start));
      at = previous ? end : (members[index + 1]?.start ?? end);
      continue;
    }
    keepsAny = true;
    if (change === undefined) continue;
    added.delete(name);
    const old = text.slice(value, end);
    const isMerged = isObject(change) && old.startsWith('{');
    pieces.push(text.slice(at, value), isMerged ? editJson(old, change as JsonChanges) : JSON.stringify(change));
    at = end;
  }
  pieces.push(text.slice(at));
  const edited = pieces.join('');
  if (added.size === 0) return edited;
  const last = edited.lastIndexOf('}');
  const texts = [...added].map((name) => `${JSON.stringify(name)}:${JSON.stringify(changes[name])}`).join(',');
  return `${edited.slice(0, last)}${keepsAny ? ',' : ''}${texts}${edited.slice(last)}`;
}

/** The names in a value at any depth: fewer than in its text where an object repeats one. */
export function countNames(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0;
  let names = Array.isArray(value) ? 0 : Object.keys(value).length;
  for (const inner of Object.values(value)) names += countNames(inner);
  return names;
}

/** An integer of fewer digits is exact as a number. */
const SHORTEST = 16;
const MANY_DIGITS = /\d{16}/;
const NUMBER = /-?[0-9][0-9.eE+-]*/y;
const INTEGER = /^-?[1-9][0-9]+$/;
/** `id`, `task_id`, `taskId`, and lists of them. */
const NAMES_ID = /(?:^|_)[iI][dD]s?$|I[dD]s?$/;
const LONGEST_NAME = 512;

/**
 * Parses JSON text. An id that a number would round, such as `{"id":7615917337495251231}`, is a
 * text of its digits. Takes linear time. @throws SyntaxError
 */
export const parseLongIds = (text: string): Json =>
  JSON.parse(MANY_DIGITS.test(text) ? quoteLongIds(text) : text) as Json;

/** The text of a name, by the indexes of its quotes. */
type Name = { start: number; close: number } | undefined;

function quoteLongIds(text: string): string {
  const pieces: string[] = [];
  let copied = 0;
  let string: Name;
  let name: Name;
  const outer: Name[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const close = endOfString(text, at);
      string = { start: at, close };
      at = close;
    } else if (code === COLON) name = string;
    else if ((code | CURLY) === OPEN_OBJECT) outer.push(name);
    else if ((code | CURLY) === CLOSE_OBJECT) name = outer.pop();
    else if (code === MINUS || (code >= ZERO && code <= NINE)) {
      NUMBER.lastIndex = at;
      const number = NUMBER.exec(text)?.[0] ?? '-';
      const end = at + number.length;
      if (number.length >= SHORTEST && INTEGER.test(number) && !isExact(number) && isId(text, name)) {
        pieces.push(text.slice(copied, at), `"${number}"`);
        copied = end;
      }
      at = end - 1;
    }
  }
  return pieces.length === 0 ? text : pieces.join('') + text.slice(copied);
}

const isExact = (integer: string): boolean => Number.isSafeInteger(Number(integer));

const isId = (text: string, name: Name): boolean =>
  name !== undefined && name.close - name.start <= LONGEST_NAME && NAMES_ID.test(nameIn(text, name.start, name.close));
