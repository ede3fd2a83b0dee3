/**
 * The credential of an `Authorization` header: `Bearer x` in any case, or one bare word.
 * `undefined` for anything else: no header, other schemes, several values.
 */
export function parseAuthorization(header: string | undefined): string | undefined {
  const words = header?.trim().split(/\s+/) ?? [];
  if (words.length === 1 && words[0] && words[0].toLowerCase() !== 'bearer') return words[0];
  if (words.length === 2 && words[0]?.toLowerCase() === 'bearer') return words[1];
  return undefined;
}
