import type { RequestFile } from '../../files/index.ts';
import { err, isObject, type Json, ok, type Result, randomToken, type Sentence, sentence } from '../../kernel/index.ts';
import { isPlaceholder, readPlaceholder } from '../../plugins/index.ts';
import type { StreamedBytes } from '../../upstream/index.ts';

type Placed = { file: RequestFile; prefix: string };

/**
 * Returns the JSON text of `body` in pieces, with each file placeholder, at any depth, replaced by
 * its file as Base64 or as a data URL. Files are streamed while they are sent, so no file is ever
 * in memory as a whole. `maxBytes` limits each file and their sum; a placeholder's own `maxBytes`
 * can only lower it for its file.
 */
export function inlineFiles(
  body: Json,
  files: readonly RequestFile[],
  maxBytes: number,
): Result<(string | StreamedBytes)[], Sentence> {
  // Marks where a file goes. It is random, so that no client can write it into the body.
  const mark = randomToken(24);
  const found: Placed[] = [];
  let problem: Sentence | undefined;
  const text = JSON.stringify(body, (_key, value: unknown) => {
    if (problem !== undefined || !isObject(value) || !isPlaceholder(value)) return value;
    const placed = placeFile(value, files, maxBytes);
    if (placed.ok) found.push(placed.value);
    else problem = placed.error;
    return mark;
  });
  if (problem !== undefined) return err(problem);
  if (found.reduce((sum, { file }) => sum + file.size, 0) > maxBytes) {
    return err(sentence('tasks.files_size', { max: maxBytes }));
  }
  const pieces: (string | StreamedBytes)[] = [];
  for (const [i, around] of text.split(mark).entries()) {
    const placed = found[i];
    // The MIME type before the data needs JSON escapes; Base64 needs none.
    if (placed) pieces.push(around + JSON.stringify(placed.prefix).slice(1, -1), asBase64(placed.file));
    else pieces.push(around);
  }
  return ok(pieces);
}

function placeFile(
  value: Record<string, unknown>,
  files: readonly RequestFile[],
  maxBytes: number,
): Result<Placed, Sentence> {
  const read = readPlaceholder(value);
  if (!read.ok) return read;
  const { ref, encoding, mimeType, maxBytes: own = maxBytes } = read.value;
  const file = files.find((candidate) => candidate.ref === ref);
  if (!file) return err(sentence('tasks.file_unknown', { name: ref }));
  const limit = Math.min(maxBytes, own);
  if (file.size > limit) return err(sentence('tasks.file_size', { name: file.filename, max: limit }));
  const type = mimeType ?? (file.mimeType || 'application/octet-stream');
  return ok({ file, prefix: encoding === 'base64' ? '' : `data:${type};base64,` });
}

const asBase64 = ({ size, stream }: RequestFile): StreamedBytes => ({
  size: Math.ceil(size / 3) * 4,
  stream: () => encodeBase64(stream()),
});

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
async function* encodeBase64(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
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
