import { BACKSLASH, createBase64Splitter, createByteBuffer, QUOTE } from '../../kernel/index.ts';

/** From this length on, a run of Base64 is media, not data. */
export const BASE64_FROM = 16 * 1024;
/** Characters that stay of it, enough to identify its type. */
export const BASE64_KEEP = 256;

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

  const splitter = createBase64Splitter({
    addToRun,
    addLineEnd: (bytes) => addToRun(bytes, 0, 2),
    addOther(bytes, from, to) {
      endRun();
      text.append(bytes, from, to);
    },
  });

  return {
    take(bytes) {
      splitter.split(bytes);
      return text.size() + held.size();
    },
    end() {
      splitter.end();
      endRun();
      return text.take();
    },
  };
}

/**
 * A `data:` URL whose media were cut, with the whole media: they begin with the same characters in
 * the answer, and end with its text. Any other URL stays.
 */
export function restoreMedia(url: string, uncut: Uint8Array): string {
  const comma = url.indexOf(',');
  const kept = url.slice(comma + 1);
  if (!/^data:/i.test(url) || kept.length < BASE64_KEEP / 2 || kept.length > BASE64_KEEP) return url;
  const answer = Buffer.from(uncut.buffer, uncut.byteOffset, uncut.byteLength);
  // Some encoders of JSON escape slashes.
  const escaped = answer.indexOf(kept.replaceAll('/', '\\/'));
  const start = escaped < 0 ? answer.indexOf(kept) : escaped;
  const end = start < 0 ? -1 : answer.indexOf(QUOTE, start);
  if (end < 0) return url;
  const media = answer.toString('latin1', start, end);
  const plain = media.includes('\\') ? media.replaceAll('\\/', '/').replace(/\\[rn]/g, '') : media;
  return url.slice(0, comma + 1) + plain;
}
