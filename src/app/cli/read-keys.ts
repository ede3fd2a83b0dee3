const CANCEL = '\u0003';
const ERASE = new Set(['\b', '\u007f']);
/** Enter, and Ctrl-D as at the end of any input. */
const END = new Set(['\r', '\n', '\u0004']);
const ESCAPE = '\u001b';
/**
 * What follows an escape: a control sequence up to its final byte (ECMA-48, 5.4), a function key,
 * or one character with Alt.
 */
const SEQUENCE = /^(?:\[[0-?]*[ -/]*[@-~]|O\P{Cc}|[^[O\p{Cc}])/u;
/** A sequence that has only begun. */
const BEGUN = /^(?:\[[0-?]*[ -/]*|O)?$/u;
const CONTROL = /\p{Cc}/u;

/**
 * One line from a terminal in raw mode, by its chunks: the text once the line has ended,
 * `undefined` as text when it was cancelled. Arrow keys and other control characters are no part of
 * it.
 */
export function readKeys(): (chunk: Uint8Array) => { text: string | undefined } | undefined {
  const decoder = new TextDecoder();
  let typed: string[] = [];
  let pending = '';
  return (chunk) => {
    let rest = pending + decoder.decode(chunk, { stream: true });
    pending = '';
    while (rest !== '') {
      const key = rest.startsWith(ESCAPE) ? readEscape(rest) : String.fromCodePoint(rest.codePointAt(0) ?? 0);
      if (key === undefined) {
        pending = rest;
        return undefined;
      }
      rest = rest.slice(key.length);
      if (key === CANCEL) return { text: undefined };
      if (END.has(key)) return { text: typed.join('') };
      if (ERASE.has(key)) typed = typed.slice(0, -1);
      else if (!key.startsWith(ESCAPE) && !CONTROL.test(key)) typed.push(key);
    }
    return undefined;
  };
}

/**
 * The sequence at the beginning of a text, the escape alone where it begins none; `undefined` while
 * more of it has to come.
 */
function readEscape(text: string): string | undefined {
  const after = text.slice(ESCAPE.length);
  return BEGUN.test(after) ? undefined : ESCAPE + (SEQUENCE.exec(after)?.[0] ?? '');
}
