/**
 * Removes trailing repetitions of one character. Takes linear time; the expression `/x+$/` does
 * not, because it restarts at each `x` of an inner run.
 */
export function trimTrailing(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end -= 1;
  return text.slice(0, end);
}

/** `1 case`, `2 cases`. `many` stands beside other numbers than 1: `1 file is`, `2 files are`. */
export const pluralize = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;

const MEGABYTE = 1_000_000;

/** Bytes for people: `734 bytes`, `12.4 MB`. */
export const describeBytes = (bytes: number): string =>
  bytes < MEGABYTE ? pluralize(bytes, 'byte') : `${Number((bytes / MEGABYTE).toFixed(1)).toLocaleString('en-US')} MB`;

const MAX_ENTRIES = 1000;
const MAX_LENGTH = 256;

/**
 * `read` with its results remembered by text. When there are too many all are forgotten, and long
 * texts never are remembered, so that clients who choose the texts cannot fill the memory. `read`
 * must depend on the text alone. `watch` gets the function that counts the entries.
 */
export function memoizeTexts<T>(read: (text: string) => T, watch?: (size: () => number) => void): (text: string) => T {
  const known = new Map<string, T>();
  watch?.(() => known.size);
  return (text) => {
    const remembered = known.get(text);
    if (remembered !== undefined || known.has(text)) return remembered as T;
    const result = read(text);
    if (text.length > MAX_LENGTH) return result;
    if (known.size >= MAX_ENTRIES) known.clear();
    known.set(text, result);
    return result;
  };
}

/**
 * Whether an If-None-Match header names the entity tag, or any (RFC 9110, 13.1.2). Whether a tag is
 * a weak one does not matter.
 */
export function matchesEntityTag(header: string | null | undefined, etag: string): boolean {
  const withoutMark = (tag: string): string => tag.trim().replace(/^W\//, '');
  const tags = (header ?? '').split(',').map(withoutMark);
  return tags.includes('*') || tags.includes(withoutMark(etag));
}
