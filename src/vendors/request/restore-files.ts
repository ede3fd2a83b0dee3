import type { ExtractedFiles } from '../../files/index.ts';
import { err, ok, type Result, type Sentence, sentence } from '../../kernel/index.ts';
import type { StreamedBytes } from '../../upstream/index.ts';

const TOKEN_DIGITS = 4;

/** Characters of a token's prefix. With its digits a token is 40 characters long. */
export const TOKEN_PREFIX_LENGTH = 40 - TOKEN_DIGITS;

/** The token that replaces extracted file number `index` in a JSON body. */
export const fileToken = (prefix: string, index: number): string =>
  `${prefix}${String(index).padStart(TOKEN_DIGITS, '0')}`;

/** The extracted files whose tokens the text contains, in their order. */
export function findFiles<File>(text: string, { prefix, files }: { prefix: string; files: readonly File[] }): File[] {
  if (files.length === 0) return [];
  const [, ...others] = text.split(prefix);
  return others.flatMap((other) => files[Number(other.slice(0, TOKEN_DIGITS))] ?? []);
}

/** Whether one of the texts contains a token. */
export const hasFileToken = (texts: readonly string[], extracted: ExtractedFiles | undefined): boolean =>
  extracted !== undefined && texts.some((text) => text.includes(extracted.prefix));

type Pieces = readonly (string | StreamedBytes)[];
/**
 * `inJson`: the text is JSON, so line breaks can stay escaped. `maxBytes` limits the sum of all
 * files.
 */
type Restoring = { extracted: ExtractedFiles | undefined; maxBytes: number; inJson: boolean };

/** Splits the text into pieces and replaces each token by its file, streamed when it is sent. */
export function restoreFiles(
  texts: Pieces,
  { extracted, maxBytes, inJson }: Restoring,
): Result<(string | StreamedBytes)[], Sentence> {
  if (!extracted) return ok([...texts]);
  const { prefix, files } = extracted;
  const pieces: (string | StreamedBytes)[] = [];
  let bytes = 0;
  for (const text of texts) {
    if (typeof text !== 'string') {
      pieces.push(text);
      continue;
    }
    const [before = '', ...others] = text.split(prefix);
    pieces.push(before);
    for (const other of others) {
      const digits = other.slice(0, TOKEN_DIGITS);
      const file = digits.length === TOKEN_DIGITS ? files[Number(digits)] : undefined;
      if (!file) return err(sentence('tasks.file_truncated'));
      if (file.hasLineEnds && !inJson) {
        return err(sentence('tasks.file_breaks'));
      }
      bytes += file.decodedSize;
      if (bytes > maxBytes) return err(sentence('tasks.files_size', { max: maxBytes }));
      pieces.push(file, other.slice(TOKEN_DIGITS));
    }
  }
  return ok(pieces);
}
