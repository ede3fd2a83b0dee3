/** Raster images and fonts inside the file; anything else behind `data:` may be a document that runs code. */
const INERT_DATA = /^data:(image\/(png|jpeg|gif|webp)|font\/[a-z0-9-]+|application\/font-[a-z]+);base64,[a-z0-9+/=]*$/;
const FORBIDDEN = ['javascript:', 'vbscript:', 'http://', 'https://', '@import'];

/** A text as browsers read addresses: without white space, control and format characters, in lower case. */
export const folded = (text: string): string => text.replace(/[\s\p{Cc}\p{Cf}]/gu, '').toLowerCase();

/** What is wrong with an address: only a part of the same file (`#id`) and images inside it may be named. */
export function findUrlFault(value: string): string | undefined {
  const address = folded(value);
  const word = FORBIDDEN.find((forbidden) => address.includes(forbidden));
  if (word) return `must not have ${word}`;
  if (address === '' || address.startsWith('#') || INERT_DATA.test(address)) return undefined;
  return 'must not refer to anything outside itself';
}

/**
 * What is wrong with a style or with the value of any other attribute: a word that loads or runs something, or a `url(…)` that leaves the file.
 * `isStyle`: the whole text is a style sheet, where escapes could hide all of that.
 */
export function findStyleFault(value: string, isStyle: boolean): string | undefined {
  const text = folded(value);
  const word = FORBIDDEN.find((forbidden) => text.includes(forbidden));
  if (word) return `must not have ${word}`;
  const hasUrl = text.includes('url(');
  if ((isStyle || hasUrl) && text.includes('\\')) return 'must not have escapes in a style';
  if (text.startsWith('data:') && !INERT_DATA.test(text)) return 'must not have data: of an active type';
  let rest = text;
  if (hasUrl) {
    for (const [, address = ''] of text.matchAll(/url\(["']?([^"')]*)/g)) {
      const fault = findUrlFault(address);
      if (fault) return fault;
    }
    rest = text.replace(/url\(["']?[^"')]*/g, '');
  }
  return isStyle && rest.includes('//') ? 'must not refer to anything outside itself' : undefined;
}
