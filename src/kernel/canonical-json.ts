import { sha256Hex } from './crypto.ts';
import {
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  endOfString,
  MINUS,
  NINE,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  ZERO,
} from './json.ts';

/** The characters between values, and those of numbers: tables, since a text may be all of them. */
const SPACES = toTable(' \t\n\r');
const NUMBERS = toTable('0123456789+-.eE');
/** An escape that `JSON.stringify` may write in another way. */
const OTHER_ESCAPE = /\\[^"\\bfnrt]/;
const WORDS = ['true', 'false', 'null'];

/** Longer values are represented by their digest, so that no level copies what is inside it. */
const MAX_LENGTH = 1024;

/**
 * A text that is equal for JSON texts of the same value: names in order, no spaces, each string in
 * one way of escaping. It is not JSON: numbers are exact decimals, which `JSON.parse` would round,
 * and long values are digests. If members share a name, the last one counts, as for `JSON.parse`.
 * `text` must be valid JSON of bounded depth. Takes linear time but for the order of names.
 * `describeString` may replace a string, as a JSON literal, by what it stands for.
 */
export function canonicalJson(text: string, describeString = (literal: string): string => literal): string {
  let at = 0;

  /** The code of the next character that is not a space. */
  function peek(): number {
    while (SPACES[text.charCodeAt(at)]) at += 1;
    return text.charCodeAt(at);
  }

  function readString(): string {
    const end = endOfString(text, at) + 1;
    const literal = text.slice(at, end);
    at = end;
    return describeString(OTHER_ESCAPE.test(literal) ? JSON.stringify(JSON.parse(literal)) : literal);
  }

  function readNumber(): string {
    const start = at;
    while (NUMBERS[text.charCodeAt(at)]) at += 1;
    return canonicalNumber(text.slice(start, at));
  }

  function readObject(): string {
    const members = new Map<string, string>();
    at += 1;
    for (let code = peek(); code !== CLOSE_OBJECT; code = peek()) {
      if (code === COMMA) {
        at += 1;
        peek();
      }
      const name = readString();
      if (peek() === COLON) at += 1;
      members.set(name, readValue());
    }
    at += 1;
    const names = [...members.keys()].sort();
    return `{${names.map((name) => `${name}:${members.get(name)}`).join()}}`;
  }

  function readArray(): string {
    const items: string[] = [];
    at += 1;
    for (let code = peek(); code !== CLOSE_ARRAY; code = peek()) {
      if (code === COMMA) at += 1;
      items.push(readValue());
    }
    at += 1;
    return `[${items.join()}]`;
  }

  function readAny(): string {
    const code = peek();
    if (code === QUOTE) return readString();
    if (code === OPEN_OBJECT) return readObject();
    if (code === OPEN_ARRAY) return readArray();
    if (code === MINUS || (code >= ZERO && code <= NINE)) return readNumber();
    const word = WORDS.find((candidate) => text.startsWith(candidate, at));
    if (word === undefined) throw new Error('canonicalJson was given a text that is not JSON');
    at += word.length;
    return word;
  }

  function readValue(): string {
    const value = readAny();
    // Nothing else begins with this sign.
    return value.length > MAX_LENGTH ? `#${sha256Hex(value)}` : value;
  }

  return readValue();
}

/**
 * The exact value as digits without zeros around them and an exponent: `1.0`, `1` and `10e-1` are
 * `1e0`. Big integers stay different, however close they are.
 */
function canonicalNumber(token: string): string {
  const sign = token.startsWith('-') ? '-' : '';
  const lower = token.toLowerCase();
  const mark = lower.indexOf('e');
  const mantissa = lower.slice(sign.length, mark === -1 ? undefined : mark);
  const dot = mantissa.indexOf('.');
  const digits = dot === -1 ? mantissa : mantissa.slice(0, dot) + mantissa.slice(dot + 1);
  let start = 0;
  while (digits.charCodeAt(start) === ZERO) start += 1;
  if (start === digits.length) return '0';
  let end = digits.length;
  while (digits.charCodeAt(end - 1) === ZERO) end -= 1;
  const shift = digits.length - end - (dot === -1 ? 0 : mantissa.length - dot - 1);
  const exponent = mark === -1 ? 0 : Number(lower.slice(mark + 1));
  // No such number means anything to anybody: as it was written, it differs from all others.
  if (!Number.isSafeInteger(exponent + shift)) return lower;
  return `${sign}${digits.slice(start, end)}e${exponent + shift}`;
}

function toTable(chars: string): Uint8Array {
  const table = new Uint8Array(128);
  for (const char of chars) table[char.charCodeAt(0)] = 1;
  return table;
}
