import { structuredPatch } from 'diff';
import { isObject, type Json } from '../../kernel/index.ts';

/** With more different lines than this a diff is slow to compute and useless to read. */
const MAX_EDITS = 1000;
/** Lines of a diff that are shown. */
const MAX_LINES = 80;
const CONTEXT_LINES = 3;

/** Sorts members by key, since their order does not matter. */
function sortMembers(value: Json): Json {
  if (Array.isArray(value)) return value.map(sortMembers);
  if (!isObject(value)) return value;
  const entries = Object.entries(value as { [key: string]: Json }).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, member]) => [key, sortMembers(member)]));
}

const pretty = (value: Json): string => `${JSON.stringify(sortMembers(value), null, 2)}\n`;

/** The difference of two JSON values line by line: `-` expected, `+` actual. */
export function describeMismatch(expected: Json, actual: Json): string[] {
  const patch = structuredPatch('expected', 'actual', pretty(expected), pretty(actual), '', '', {
    context: CONTEXT_LINES,
    maxEditLength: MAX_EDITS,
  });
  if (!patch) return ['- expected, + actual: they have almost nothing in common'];
  const lines = patch.hunks.flatMap((hunk, index) => [...(index > 0 ? ['  …'] : []), ...hunk.lines.map(spaced)]);
  const more = lines.length - MAX_LINES;
  return ['- expected', '+ actual', ...lines.slice(0, MAX_LINES), ...(more > 0 ? [`  … ${more} more lines`] : [])];
}

const spaced = (line: string): string => `${line.slice(0, 1)} ${line.slice(1)}`;
