import { createByteBuffer, createJsonEscapeReader } from '../../kernel/index.ts';

/** Longer runs of Base64 are media, not data. */
export const BASE64_FROM = 16 * 1024;
/** What stays of them, enough to tell what they were. */
export const BASE64_KEEP = 256;

const BACKSLASH = 0x5c;
const BASE64 = 1;
const ESCAPE = 2;
/** 0: neither. */
const KINDS = new Uint8Array(256);
for (const char of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=')
  KINDS[char.charCodeAt(0)] = BASE64;
KINDS[BACKSLASH] = ESCAPE;
/** What may stand behind a backslash within Base64 besides its own characters. */
const LINE_ENDS = new Set([...'nr'].map((char) => char.charCodeAt(0)));

export type Base64Cutter = {
  /** Takes the next bytes of the text, and tells how many are left so far. */
  take(bytes: Uint8Array): number;
  /** The text, with each long run of Base64 cut to its first characters. */
  end(): Uint8Array;
};

/** Cuts media out of a JSON text while it is read. */
export function createBase64Cutter(): Base64Cutter {
  const text = createByteBuffer();
  /** The present run beyond its first characters, while it may still be too short to be cut. */
  const held = createByteBuffer();
  let run = 0;
  const escapes = createJsonEscapeReader();
  const single = new Uint8Array(1);

  function addToRun(bytes: Uint8Array, from: number, to: number): void {
    // An escape is kept as a whole or not at all.
    const room = run < BASE64_KEEP ? BASE64_KEEP - run : 0;
    const keep = bytes[from] === BACKSLASH && room < to - from ? 0 : Math.min(room, to - from);
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
