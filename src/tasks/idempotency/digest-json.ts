import { createHash } from 'node:crypto';
import type { ExtractedFile, ExtractedFiles } from '../../files/index.ts';
import { canonicalJson, nextTurn, sha256Hex } from '../../kernel/index.ts';
import { fileToken } from '../../vendors/index.ts';

/** From this size on, other requests get a turn between the parsing and the digest. */
const LONG_TEXT = 64 * 1024;

/**
 * SHA-256 in hex of what valid JSON means: `canonicalJson`. An extracted file counts by the SHA-256
 * of its Base64 as sent.
 */
export async function digestJson(text: string, extracted?: ExtractedFiles): Promise<string> {
  if (text.length > LONG_TEXT) await nextTurn();
  if (!extracted) return sha256Hex(canonicalJson(text));
  const { prefix, files } = extracted;
  const digests = new Map<string, string>();
  for (const [index, file] of files.entries()) digests.set(fileToken(prefix, index), await digestFile(file));
  const digitsLength = fileToken(prefix, 0).length - prefix.length;
  const describe = (literal: string): string => {
    const [before = '', ...others] = literal.split(prefix);
    if (others.length === 0) return literal;
    const described = others.map(
      (rest) => `\n${digests.get(prefix + rest.slice(0, digitsLength))}\n${rest.slice(digitsLength)}`,
    );
    // No literal contains a line end, so no text can pass for a file.
    return before + described.join('');
  };
  return sha256Hex(canonicalJson(text, describe));
}

async function digestFile(file: ExtractedFile): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of file.stream()) hash.update(chunk);
  return hash.digest('hex');
}
