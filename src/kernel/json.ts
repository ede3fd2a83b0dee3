/** JSON values: their types, checks, and a parser that bounds how deep they nest. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/**
 * The deepest nesting of arrays and objects. Deeper JSON is an attack on recursive code:
 * validators, the sandbox's parser, the receiver's own.
 */
export const MAX_JSON_DEPTH = 256;

/** The bytes of JSON's own characters. */
export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const MINUS = 0x2d;
export const ZERO = 0x30;
export const NINE = 0x39;
export const OPEN_ARRAY = 0x5b;
export const CLOSE_ARRAY = 0x5d;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
/** The bit in which `[` differs from `{`, and `]` from `}`. */
export const CURLY = 0x20;

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether a media type, without parameters, is one of JSON. */
export const isJsonType = (type: string): boolean => type === 'application/json' || type.endsWith('+json');

/** Drops undefined members: in a change, a member that is left out keeps its value. */
export const withoutUndefined = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };

/**
 * The parsed value; `undefined` when the text is not JSON or nests deeper than `MAX_JSON_DEPTH`.
 */
export function parseJson(text: string): Json | undefined {
  if (nestsTooDeep(text)) return undefined;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** Whether JSON text nests deeper than `MAX_JSON_DEPTH`; meaningless for text that is not JSON. */
function nestsTooDeep(text: string): boolean {
  // So many levels need at least twice as many brackets.
  if (text.length <= 2 * MAX_JSON_DEPTH) return false;
  let depth = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === QUOTE) i = endOfString(text, i);
    else if ((code | CURLY) === CLOSE_OBJECT) depth -= 1;
    else if ((code | CURLY) === OPEN_OBJECT) {
      depth += 1;
      if (depth > MAX_JSON_DEPTH) return true;
    }
  }
  return false;
}

/** The index of the quote that closes the string opened at `start`. */
export function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === BACKSLASH) escapes += 1;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}
