const BACKSLASH = 0x5c;
const UNICODE = 0x75;
const SLASH = 0x2f;
/** The length of `\uXXXX` in bytes. */
const UNICODE_BYTES = 6;
/** Means: not an ASCII character. */
const NO_CHAR = -1;

/** Values of hexadecimal digits by byte. Other bytes give a value too large for ASCII. */
const HEX = new Uint16Array(256).fill(0x100);
for (const digit of '0123456789abcdefABCDEF') HEX[digit.charCodeAt(0)] = Number.parseInt(digit, 16);

/**
 * Reads the escapes of a JSON string while its bytes arrive. It allocates nothing per escape: a
 * text may have millions.
 */
export type JsonEscapeReader = {
  /** The escape as encoded in the text: the first `length` bytes. Valid until the next `begin`. */
  readonly bytes: Uint8Array;
  readonly length: number;
  /** The ASCII character of a complete escape that did not need escaping; -1 for any other. */
  readonly char: number;
  /** A backslash was read, and its escape is incomplete. */
  readonly isOpen: boolean;
  begin(): void;
  /** Reads the next byte and returns whether it completes the escape. */
  push(byte: number): boolean;
};

export function createJsonEscapeReader(): JsonEscapeReader {
  const bytes = new Uint8Array(UNICODE_BYTES);
  let length = 0;
  let isOpen = false;
  let char = NO_CHAR;
  return {
    bytes,
    get length() {
      return length;
    },
    get char() {
      return char;
    },
    get isOpen() {
      return isOpen;
    },
    begin() {
      bytes[0] = BACKSLASH;
      length = 1;
      char = NO_CHAR;
      isOpen = true;
    },
    push(byte) {
      bytes[length] = byte;
      length += 1;
      if (length === 2 && byte !== UNICODE) {
        if (byte === SLASH) char = SLASH;
        isOpen = false;
      } else if (length === UNICODE_BYTES) {
        let code = 0;
        for (let i = 2; i < UNICODE_BYTES; i += 1) code = code * 16 + (HEX[bytes[i] as number] as number);
        if (code < 0x80) char = code;
        isOpen = false;
      }
      return !isOpen;
    },
  };
}
