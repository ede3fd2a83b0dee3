import { err, ok, type Result } from '../../kernel/index.ts';
import type { StreamedBytes } from '../../upstream/index.ts';
import type { ExtractedFiles } from '../types.ts';

const TOKEN_DIGITS = 4;

/**
 * Characters of a token's prefix. With the digits behind it a token is as long as Base64 may be.
 */
export const TOKEN_PREFIX_LENGTH = 40 - TOKEN_DIGITS;

/** What stands in a JSON body for its extracted file of this number. */
export const fileToken = (prefix: string, index: number): string =>
  `${prefix}${String(index).padStart(TOKEN_DIGITS, '0')}`;

/** Whether a token stands in any of the texts. */
export const hasFileToken = (texts: readonly string[], extracted: ExtractedFiles | undefined): boolean =>
  extracted !== undefined && texts.some((text) => text.includes(extracted.prefix));

type Pieces = readonly (string | StreamedBytes)[];
type Where = { extracted: ExtractedFiles | undefined; maxBytes: number; inJson: boolean };

/**
 * The text in pieces, with the bytes of a file in the place of each token; they are read when it is
 * their turn to be sent. `inJson`: the text is JSON, so that escaped ends of lines may stay
 * escaped. `maxBytes` bounds all files together.
 */
export function restoreFiles(
  texts: Pieces,
  { extracted, maxBytes, inJson }: Where,
): Result<(string | StreamedBytes)[], { message: string }> {
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
      if (!file) return err({ message: 'the plugin has cut a file of the request that stands in its JSON' });
      if (file.hasLineEnds && !inJson) {
        return err({ message: 'a file with ends of lines in its Base64 cannot be put anywhere but into JSON' });
      }
      bytes += file.decodedSize;
      if (bytes > maxBytes)
        return err({ message: `the files of this request are together larger than ${maxBytes} bytes` });
      pieces.push(file, other.slice(TOKEN_DIGITS));
    }
  }
  return ok(pieces);
}
