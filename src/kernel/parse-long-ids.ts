import { nameIn } from './edit-json.ts';
import { endOfString, type Json } from './json.ts';

/** An integer of fewer digits is exact as a number. */
const SHORTEST = 16;
const MANY_DIGITS = /\d{16}/;
const NUMBER = /-?[0-9][0-9.eE+-]*/y;
const INTEGER = /^-?[1-9][0-9]+$/;
/** `id`, `task_id`, `taskId`, and lists of them. */
const NAMES_ID = /(?:^|_)[iI][dD]s?$|I[dD]s?$/;
const LONGEST_NAME = 512;

const QUOTE = 0x22;
const COLON = 0x3a;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
/** The bit in which `[` differs from `{`, and `]` from `}`. */
const CURLY = 0x20;
const OPENING = 0x7b;
const CLOSING = 0x7d;

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
    else if ((code | CURLY) === OPENING) outer.push(name);
    else if ((code | CURLY) === CLOSING) name = outer.pop();
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
