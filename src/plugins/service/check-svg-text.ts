/** Embedded raster images and fonts. Any other `data:` may be a document that runs code. */
const INERT_DATA = /^data:(image\/(png|jpeg|gif|webp)|font\/[a-z0-9-]+|application\/font-[a-z]+);base64,[a-z0-9+/=]*$/;
const URL_CALL = /url\(["']?([^"')]*)/g;
const FORBIDDEN = ['javascript:', 'vbscript:', 'http://', 'https://', '@import'];

/** A URL as browsers read it: without white space, control and format characters; lower case. */
export const foldUrl = (text: string): string => text.replace(/[\s\p{Cc}\p{Cf}]/gu, '').toLowerCase();

/**
 * What is wrong with a URL: only parts of the same file (`#id`) and embedded images are allowed.
 */
export function findUrlFault(value: string): string | undefined {
  const url = foldUrl(value);
  const word = FORBIDDEN.find((forbidden) => url.includes(forbidden));
  if (word) return `must not have ${word}`;
  if (url === '' || url.startsWith('#') || INERT_DATA.test(url)) return undefined;
  return 'must not refer to anything outside itself';
}

/**
 * What is wrong with a style, or with the value of another attribute: a word that loads or runs
 * something, or a URL outside the file. `isStyle`: the text is a style sheet. Other attributes are
 * checked like one if they call a function, as `fill="url(#g)"` does.
 */
export function findStyleFault(value: string, isStyle: boolean): string | undefined {
  const text = foldUrl(value);
  const word = FORBIDDEN.find((forbidden) => text.includes(forbidden));
  if (word) return `must not have ${word}`;
  if (text.startsWith('data:') && !INERT_DATA.test(text)) return 'must not have data: of an active type';
  if (!isStyle && !text.includes('(')) return undefined;
  if (text.includes('\\')) return 'must not have escapes in a style';
  for (const [, url = ''] of text.matchAll(URL_CALL)) {
    const fault = findUrlFault(url);
    if (fault) return fault;
  }
  // Other functions take URLs as plain texts.
  return text.replace(URL_CALL, '').includes('//') ? 'must not refer to anything outside itself' : undefined;
}
