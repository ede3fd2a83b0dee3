import type { ReadStream } from 'node:tty';

/** Asks for a secret at the terminal without echo. `undefined` without a terminal or on Ctrl-C. */
export function askSecret(prompt: string): Promise<string | undefined> {
  const input: ReadStream = process.stdin;
  if (!input.isTTY) return Promise.resolve(undefined);
  process.stderr.write(prompt);
  input.setRawMode(true);
  const read = readKeys();
  return new Promise((resolve) => {
    const onData = (chunk: Buffer): void => {
      const ended = read(chunk);
      if (!ended) return;
      input.off('data', onData);
      input.setRawMode(false);
      input.pause();
      process.stderr.write('\n');
      resolve(ended.text);
    };
    input.on('data', onData);
    input.resume();
  });
}

const CANCEL = '\u0003';
const ERASE = new Set(['\b', '\u007f']);
/** Enter, and Ctrl-D as the end of input. */
const END = new Set(['\r', '\n', '\u0004']);
const ESCAPE = '\u001b';
/** After an escape: a control sequence (ECMA-48, 5.4), a function key, or a character with Alt. */
const SEQUENCE = /^(?:\[[0-?]*[ -/]*[@-~]|O\P{Cc}|[^[O\p{Cc}])/u;
/** The beginning of a sequence whose end has not arrived. */
const INCOMPLETE = /^(?:\[[0-?]*[ -/]*|O)?$/u;
const CONTROL = /\p{Cc}/u;

/**
 * Reads one line from a terminal in raw mode, chunk by chunk. Returns undefined until the line
 * ends; its `text` is undefined if it was cancelled. Drops arrow keys and other control characters.
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

/** The escape sequence at the start of a text, or the escape alone; `undefined` if incomplete. */
function readEscape(text: string): string | undefined {
  const after = text.slice(ESCAPE.length);
  return INCOMPLETE.test(after) ? undefined : ESCAPE + (SEQUENCE.exec(after)?.[0] ?? '');
}
