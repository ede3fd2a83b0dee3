const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const PAD = '='.charCodeAt(0);

/** For each 12-bit value its two Base64 characters, in memory order. Filled when first needed. */
let pairTable: Uint16Array | undefined;
const fillPairTable = (): Uint16Array =>
  new Uint16Array(
    Uint8Array.from({ length: 2 * 4096 }, (_, i) => ALPHABET.charCodeAt(i % 2 === 0 ? i >> 7 : (i >> 1) & 63)).buffer,
  );

/**
 * Encodes `chunks` as Base64, chunk by chunk. A returned chunk is valid until you ask for the next:
 * all are written to the same buffer. The platform's encoder would allocate a string for each
 * chunk, and these pile up until the garbage collector runs.
 */
export async function* encodeBase64(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  let input = new Uint8Array();
  let output = new Uint16Array();
  // Three bytes become four characters. The remainder of a chunk waits for the next one.
  let waiting = 0;
  for await (const chunk of chunks) {
    const total = waiting + chunk.byteLength;
    if (total > input.length) {
      const larger = new Uint8Array(total);
      larger.set(input.subarray(0, waiting));
      input = larger;
      output = new Uint16Array(2 * Math.ceil(total / 3));
    }
    input.set(chunk, waiting);
    const threes = Math.floor(total / 3);
    encode(input, threes, output);
    waiting = total - 3 * threes;
    input.copyWithin(0, 3 * threes, total);
    if (threes > 0) yield new Uint8Array(output.buffer, 0, 4 * threes);
  }
  if (waiting === 0) return;
  const last = new Uint16Array(2);
  const bytes = Uint8Array.of(...input.subarray(0, waiting), 0, 0);
  encode(bytes, 1, last);
  yield new Uint8Array(last.buffer).fill(PAD, waiting + 1);
}

function encode(bytes: Uint8Array, threes: number, pairs: Uint16Array): void {
  pairTable ??= fillPairTable();
  for (let i = 0; i < threes; i += 1) {
    const bits = ((bytes[3 * i] ?? 0) << 16) | ((bytes[3 * i + 1] ?? 0) << 8) | (bytes[3 * i + 2] ?? 0);
    pairs[2 * i] = pairTable[bits >> 12] ?? 0;
    pairs[2 * i + 1] = pairTable[bits & 4095] ?? 0;
  }
}
