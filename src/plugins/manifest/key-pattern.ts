const ANY = '[^\\s|]+';
const FILE = '\\{[^]*\\}';
/** Stands for any text: `API_KEY`. */
const PLACEHOLDER = /^[A-Z][A-Z0-9_]{2,}$/;
const REST = '…';

/**
 * A regular expression, of linear time, for a key of one of these `keyFormat`s; empty where nothing
 * can be told. It finds keys of another vendor and half pairs, so it is lenient otherwise.
 */
export function keyPatternOf(formats: readonly string[]): string {
  const patterns = formats.map(patternOf);
  return patterns.length === 0 || patterns.includes(undefined) ? '' : `^(?:${patterns.join('|')})$`;
}

/** Undefined for a format in words, such as `32 hexadecimal digits`. */
function patternOf(format: string): string | undefined {
  if (format.startsWith('{')) return FILE;
  const parts = format.split('|').map((part) => partOf(part.trim()));
  return parts.includes(undefined) ? undefined : parts.join('\\|');
}

function partOf(part: string): string | undefined {
  if (PLACEHOLDER.test(part)) return ANY;
  const at = part.indexOf(REST);
  if (at === -1) return undefined;
  return /\s/.test(part) ? undefined : escapeSigns(part.slice(0, at)) + ANY;
}

const escapeSigns = (text: string): string => text.replaceAll(/\W/g, '\\$&');
