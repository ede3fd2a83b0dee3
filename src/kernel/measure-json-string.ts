const BACKSLASH = 0x5c;
const LETTER_U = 0x75;
const HEX_DIGITS = 4;

/** Counts the bytes of a JSON string in UTF-8 once its escapes are read, in any chunks. */
export function measureJsonString() {
  let bytes = 0;
  /** Hexadecimal digits of `\uXXXX` that are still to come. */
  let digits = 0;
  let code = 0;
  let isAfterBackslash = false;
  return {
    bytes: () => bytes,
    push(chunk: Uint8Array, from: number, to: number): void {
      for (let at = from; at < to; at += 1) {
        const byte = chunk[at] as number;
        if (digits > 0) {
          digits -= 1;
          code = code * 16 + (byte <= 0x39 ? byte - 0x30 : (byte & 0x0f) + 9);
          if (digits === 0) bytes += utf8Bytes(code);
        } else if (isAfterBackslash) {
          isAfterBackslash = false;
          if (byte === LETTER_U) {
            digits = HEX_DIGITS;
            code = 0;
          } else bytes += 1;
        } else if (byte === BACKSLASH) isAfterBackslash = true;
        else bytes += 1;
      }
    },
  };
}

/** A surrogate is half of a character of four bytes. */
function utf8Bytes(code: number): number {
  if (code < 0x80) return 1;
  return code < 0x800 || (code >= 0xd800 && code <= 0xdfff) ? 2 : 3;
}
