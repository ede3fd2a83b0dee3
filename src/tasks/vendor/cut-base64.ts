import { createByteBuffer, createJsonEscapeReader } from '../../kernel/index.ts';

/** From this length on, a run of Base64 is media, not data. */
export const BASE64_FROM = 16 * 1024;
/** Characters that stay of it, enough to identify its type. */
export const BASE64_KEEP = 256;

const BACKSLASH = 0x5c;
const BASE64 = 1;
const ESCAPE = 2;
/** The kind of each byte; 0: neither of the two. */
const KINDS = new Uint8Array(256);
for (const char of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=')
  KINDS[char.charCodeAt(0)] = BASE64;
KINDS[BACKSLASH] = ESCAPE;
/** Escapes that are part of a Base64 run: `\n` and `\r`. */
const LINE_ENDS = new Set([...'nr'].map((char) => char.charCodeAt(0)));

export type Base64Cutter = {
  /** Takes the next bytes of the text. Returns the size of the output so far. */
  take(bytes: Uint8Array): number;
  /** Returns the text, with each long run of Base64 cut to its first characters. */
  end(): Uint8Array;
};

/** Cuts Base64 media out of a JSON text while it is being read. */
export function createBase64Cutter(): Base64Cutter {
  const text = createByteBuffer();
  /** The current run after its first characters, until it is known to be long enough to cut. */
  const held = createByteBuffer();
  let run = 0;
  const escapes = createJsonEscapeReader();
  const single = new Uint8Array(1);

  function addToRun(bytes: Uint8Array, from: number, to: number): void {
    // An escape is kept whole or not at all.
    const left = run < BASE64_KEEP ? BASE64_KEEP - run : 0;
    const keep = bytes[from] === BACKSLASH && left < to - from ? 0 : Math.min(left, to - from);
    run += to - from;
    text.append(bytes, from, from + keep);
    if (run >= BASE64_FROM) held.clear();
    else held.append(bytes, from + keep, to);
  }

  function endRun(): void {
    held.moveTo(text);
    run = 0;
  }

  function endEscape(): void {
    const { bytes, length, char } = escapes;
    if (char >= 0 && KINDS[char] === BASE64) {
      single[0] = char;
      addToRun(single, 0, 1);
    } else if (length === 2 && LINE_ENDS.has(bytes[1] as number)) addToRun(bytes, 0, 2);
    else {
      endRun();
      text.append(bytes, 0, length);
    }
  }

  return {
    take(bytes) {
      for (let i = 0; i < bytes.length; ) {
        const byte = bytes[i] as number;
        const kind = KINDS[byte];
        if (escapes.isOpen || kind === ESCAPE) {
          if (!escapes.isOpen) escapes.begin();
          else if (escapes.push(byte)) endEscape();
          i += 1;
          continue;
        }
        let end = i + 1;
        while (end < bytes.length && KINDS[bytes[end] as number] === kind) end += 1;
        if (kind === BASE64) addToRun(bytes, i, end);
        else {
          endRun();
          text.append(bytes, i, end);
        }
        i = end;
      }
      return text.size() + held.size();
    },
    end() {
      endRun();
      if (escapes.isOpen) text.append(escapes.bytes, 0, escapes.length);
      return text.take();
    },
  };
}
