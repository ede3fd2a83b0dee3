/**
 * Raster images and fonts inside the file; anything else behind `data:` may be a document that runs
 * code.
 */
const INERT_DATA = /^data:(image\/(png|jpeg|gif|webp)|font\/[a-z0-9-]+|application\/font-[a-z]+);base64,[a-z0-9+/=]*$/;
const URL_CALL = /url\(["']?([^"')]*)/g;
const FORBIDDEN = ['javascript:', 'vbscript:', 'http://', 'https://', '@import'];

/**
 * A text as browsers read addresses: without white space, control and format characters, in lower
 * case.
 */
export const folded = (text: string): string => text.replace(/[\s\p{Cc}\p{Cf}]/gu, '').toLowerCase();

/**
 * What is wrong with an address: only a part of the same file (`#id`) and images inside it may be
 * named.
 */
export function findUrlFault(value: string): string | undefined {
  const address = folded(value);
  const word = FORBIDDEN.find((forbidden) => address.includes(forbidden));
  if (word) return `must not have ${word}`;
  if (address === '' || address.startsWith('#') || INERT_DATA.test(address)) return undefined;
  return 'must not refer to anything outside itself';
}

/**
 * What is wrong with a style or with the value of any other attribute: a word that loads or runs
 * something, or an address that leaves the file. `isStyle`: the text is a style sheet. Other
 * attributes are read like one where they call a function, as `fill="url(#g)"` does.
 */
export function findStyleFault(value: string, isStyle: boolean): string | undefined {
  const text = folded(value);
  const word = FORBIDDEN.find((forbidden) => text.includes(forbidden));
  if (word) return `must not have ${word}`;
  if (text.startsWith('data:') && !INERT_DATA.test(text)) return 'must not have data: of an active type';
  if (!isStyle && !text.includes('(')) return undefined;
  if (text.includes('\\')) return 'must not have escapes in a style';
  for (const [, address = ''] of text.matchAll(URL_CALL)) {
    const fault = findUrlFault(address);
    if (fault) return fault;
  }
  // Other functions take addresses as plain texts.
  return text.replace(URL_CALL, '').includes('//') ? 'must not refer to anything outside itself' : undefined;
}
