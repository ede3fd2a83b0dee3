import { err, isObject, type Json, ok, type Result, randomToken } from '../../kernel/index.ts';
import { isPlaceholder, readPlaceholder } from '../../plugins/index.ts';
import type { StreamedBytes } from '../../upstream/index.ts';
import type { RequestFile } from '../types.ts';
import { encodeBase64 } from './encode-base64.ts';

type Placed = { file: RequestFile; prefix: string };

/**
 * The JSON text of `body` in pieces, with each file placeholder, at any depth, replaced by its
 * file's bytes as Base64 or as a data URL; they are read when it is their turn to be sent, so that
 * no file is ever in memory as a whole. `maxBytes` bounds each file and all of them together; a
 * placeholder's own `maxBytes` may only lower it for its file.
 */
export function inlineFiles(
  body: Json,
  files: readonly RequestFile[],
  maxBytes: number,
): Result<(string | StreamedBytes)[], { message: string }> {
  // Stands where a file goes, and cannot be guessed by who writes the body.
  const mark = randomToken(24);
  const found: Placed[] = [];
  let fault: string | undefined;
  const text = JSON.stringify(body, (_key, value: unknown) => {
    if (fault !== undefined || !isObject(value) || !isPlaceholder(value)) return value;
    const placed = placeFile(value, files, maxBytes);
    if (placed.ok) found.push(placed.value);
    else fault = placed.error;
    return mark;
  });
  if (fault !== undefined) return err({ message: fault });
  if (found.reduce((sum, { file }) => sum + file.size, 0) > maxBytes) {
    return err({ message: `the files of this request are together larger than ${maxBytes} bytes` });
  }
  const pieces: (string | StreamedBytes)[] = [];
  for (const [i, around] of text.split(mark).entries()) {
    const placed = found[i];
    // The type that stands before the data needs JSON's escapes; the data needs none.
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
