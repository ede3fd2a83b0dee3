import type { RequestFile } from '../../files/index.ts';
import { err, isObject, type Json, ok, type Result, randomToken } from '../../kernel/index.ts';
import { isPlaceholder, readPlaceholder } from '../../plugins/index.ts';
import type { StreamedBytes } from '../../upstream/index.ts';
import { encodeBase64 } from './encode-base64.ts';

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
): Result<(string | StreamedBytes)[], { message: string }> {
  // Marks where a file goes. It is random, so that no client can write it into the body.
  const mark = randomToken(24);
  const found: Placed[] = [];
  let problem: string | undefined;
  const text = JSON.stringify(body, (_key, value: unknown) => {
    if (problem !== undefined || !isObject(value) || !isPlaceholder(value)) return value;
    const placed = placeFile(value, files, maxBytes);
    if (placed.ok) found.push(placed.value);
    else problem = placed.error;
    return mark;
  });
  if (problem !== undefined) return err({ message: problem });
  if (found.reduce((sum, { file }) => sum + file.size, 0) > maxBytes) {
    return err({ message: `the files of this request are together larger than ${maxBytes} bytes` });
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
): Result<Placed, string> {
  const read = readPlaceholder(value);
  if (!read.ok) return read;
  const { ref, encoding, mimeType, maxBytes: own = maxBytes } = read.value;
  const file = files.find((candidate) => candidate.ref === ref);
  if (!file) return err(`unknown file reference "${ref}"`);
  const limit = Math.min(maxBytes, own);
  if (file.size > limit) return err(`the file "${file.filename}" is larger than ${limit} bytes`);
  const type = mimeType ?? (file.mimeType || 'application/octet-stream');
  return ok({ file, prefix: encoding === 'base64' ? '' : `data:${type};base64,` });
}

const asBase64 = ({ size, stream }: RequestFile): StreamedBytes => ({
  size: Math.ceil(size / 3) * 4,
  stream: () => encodeBase64(stream()),
});
