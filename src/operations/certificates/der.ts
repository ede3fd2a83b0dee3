/** Distinguished Encoding Rules (ITU-T X.690), as far as a certificate needs them. */

const tagged = (tag: number, ...parts: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
};

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  if (length < 0x100) return Buffer.from([0x81, length]);
  return Buffer.from([0x82, length >> 8, length & 0xff]);
}

/** Each arc in base 128, all but the last byte with the high bit; the first two arcs share one. */
function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [first * 40 + second, ...rest].flatMap((arc) => {
    const digits = [arc & 0x7f];
    for (let left = arc >> 7; left > 0; left >>= 7) digits.unshift((left & 0x7f) | 0x80);
    return digits;
  });
  return tagged(0x06, Buffer.from(bytes));
}

/** `YYMMDDHHMMSSZ`: right until 2049. */
const utcTime = (ms: number): Buffer =>
  tagged(0x17, Buffer.from(`${new Date(ms).toISOString().slice(2, 19).replaceAll(/[-:T]/g, '')}Z`));

export const der = {
  sequence: (...parts: readonly Uint8Array[]) => tagged(0x30, ...parts),
  set: (...parts: readonly Uint8Array[]) => tagged(0x31, ...parts),
  /** `bytes`: unsigned, with the high bit of the first one clear. */
  integer: (bytes: Uint8Array) => tagged(0x02, bytes),
  bitString: (bytes: Uint8Array) => tagged(0x03, Buffer.from([0]), bytes),
  octetString: (bytes: Uint8Array) => tagged(0x04, bytes),
  utf8: (text: string) => tagged(0x0c, Buffer.from(text)),
  true: () => tagged(0x01, Buffer.from([0xff])),
  objectIdentifier,
  utcTime,
  /** `[n]`, around other values. */
  context: (n: number, ...parts: readonly Uint8Array[]) => tagged(0xa0 | n, ...parts),
  /** `[n]` in place of the value's own tag. */
  implicit: (n: number, bytes: Uint8Array) => tagged(0x80 | n, bytes),
};
