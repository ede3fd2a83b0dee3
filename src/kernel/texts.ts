/**
 * Removes trailing repetitions of one character. Takes linear time; the expression `/x+$/` does
 * not, because it restarts at each `x` of an inner run.
 */
export function trimTrailing(text: string, character: string): string {
  let end = text.length;
  while (end > 0 && text[end - 1] === character) end -= 1;
  return text.slice(0, end);
}

/**
 * Characters of a text, as its list `[...text]` would have. Making that list takes many times as
 * long, which a client could use to hold up everybody else.
 */
export function countCharacters(text: string): number {
  let pairs = 0;
  for (let at = 1; at < text.length; at += 1) {
    if ((text.charCodeAt(at) & 0xfc00) === 0xdc00 && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800) pairs += 1;
  }
  return text.length - pairs;
}

/** The first characters of a text. */
export const firstCharacters = (text: string, most: number): string =>
  [...text.slice(0, 2 * most)].slice(0, most).join('');

/** `1 case`, `2 cases`. `many` stands beside other numbers than 1: `1 file is`, `2 files are`. */
export const pluralize = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`;

const BYTE_UNITS = [
  ['gigabyte', 1024 ** 3],
  ['megabyte', 1024 ** 2],
  ['kilobyte', 1024],
] as const;

/**
 * Bytes for people, as the panel shows them and settings in MB count them: `734 bytes`, `12.4 MB`.
 */
export function describeBytes(bytes: number, language = 'en'): string {
  const [unit, size] = BYTE_UNITS.find(([, least]) => bytes >= least) ?? ['byte', 1];
  const unitDisplay = unit === 'byte' ? 'long' : 'short';
  return new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay, maximumFractionDigits: 1 }).format(
    bytes / size,
  );
}

/** Storage is paid for by the GB of 10^9 bytes, so this is exact enough to be multiplied. */
const describeGigabytes = (bytes: number, language: string): string =>
  new Intl.NumberFormat(language, { style: 'unit', unit: 'gigabyte', maximumFractionDigits: 6 }).format(bytes / 1e9);

/** Writes an amount as precisely as it is given: `$0.10`, `$0.0025`. */
const describeUsd = (usd: number, language: string): string =>
  new Intl.NumberFormat(language, {
    ...{ style: 'currency', currency: 'USD', currencyDisplay: 'narrowSymbol' },
    maximumFractionDigits: 6,
  }).format(usd);

/** How a number is written for whose placeholder in a text says more: `{{max, bytes}}`. */
export const VALUE_FORMATS: Readonly<Record<string, (value: number, language: string) => string>> = {
  bytes: describeBytes,
  gigabytes: describeGigabytes,
  usd: describeUsd,
};

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

export const escapeXml = (text: string): string => text.replaceAll(/[&<>"]/g, (sign) => ENTITIES[sign] ?? sign);

/** Bytes of a value as JSON in UTF-8. */
export const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');

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

/** The name among `known` with the fewest edits, at most `maxEdits`, whatever the case. */
export function findNearest(name: string, known: Iterable<string>, maxEdits: number): string | undefined {
  if (name.length > 64) return undefined;
  let found: string | undefined;
  let least = Math.min(maxEdits, Math.floor(name.length / 2)) + 1;
  for (const one of known) {
    if (Math.abs(one.length - name.length) >= least) continue;
    const edits = countEdits(name.toLowerCase(), one.toLowerCase(), least);
    if (edits < least) [found, least] = [one, edits];
  }
  return found;
}

/**
 * Edits of single letters between two short texts (Wagner and Fischer, 1974); counts to `end` only,
 * since most names differ from the first letters on.
 */
function countEdits(a: string, b: string, end: number): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    if (Math.min(...next) >= end) return end;
    row = next;
  }
  return row[b.length] ?? 0;
}
