import { BACKSLASH } from './json.ts';

const BASE64 = 1;
const ESCAPE = 2;
/** The kind of each byte: `BASE64`, `ESCAPE`, or 0 for neither. */
const KINDS = new Uint8Array(256);
for (const char of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=')
  KINDS[char.charCodeAt(0)] = BASE64;
KINDS[BACKSLASH] = ESCAPE;
/** Escaped line ends may stand within Base64: `\n` and `\r`. */
const LINE_ENDS = new Set([...'nr'].map((char) => char.charCodeAt(0)));

/** Takes the parts of a text in their order. The bytes are valid until the call returns. */
export type Base64Sink = {
  /** The next bytes of a run of Base64; an escaped character of it comes without its escape. */
  addToRun(bytes: Uint8Array, from: number, to: number): void;
  /** An escaped line end within a run: both bytes of `bytes`. */
  addLineEnd(bytes: Uint8Array): void;
  /** Anything else, which ends a run. */
  addOther(bytes: Uint8Array, from: number, to: number): void;
};

export type Base64Splitter = {
  split(bytes: Uint8Array): void;
  /** Hands on an escape that is incomplete at the end of the text. */
  end(): void;
};

/**
 * Splits a JSON text into runs of Base64 and the rest while it arrives. Clients may escape
 * characters of Base64: PHP escapes slashes, .NET plus signs.
 */
export function createBase64Splitter(sink: Base64Sink): Base64Splitter {
  const escapes = createJsonEscapeReader();
  const single = new Uint8Array(1);

  function endEscape(): void {
    const { bytes, length, char } = escapes;
    if (char >= 0 && KINDS[char] === BASE64) {
      single[0] = char;
      sink.addToRun(single, 0, 1);
    } else if (length === 2 && LINE_ENDS.has(bytes[1] as number)) sink.addLineEnd(bytes);
    else sink.addOther(bytes, 0, length);
  }

  return {
    split(bytes) {
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
        if (kind === BASE64) sink.addToRun(bytes, i, end);
        else sink.addOther(bytes, i, end);
        i = end;
      }
    },
    end() {
      if (escapes.isOpen) sink.addOther(escapes.bytes, 0, escapes.length);
    },
  };
}

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

function createJsonEscapeReader(): JsonEscapeReader {
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

/** How the Base64 of an image begins, by its media type. */
const IMAGES: Readonly<Record<string, string>> = {
  'image/png': 'iVBORw0KGgo',
  'image/jpeg': '/9j/',
  'image/webp': 'UklGR',
  'image/gif': 'R0lGOD',
};

/** The media type of an image in Base64, by its first bytes. */
export const findImageType = (base64: string): string | undefined =>
  Object.keys(IMAGES).find((type) => base64.startsWith(IMAGES[type] ?? ''));
