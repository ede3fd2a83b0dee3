import { isDeepStrictEqual } from 'node:util';
import { FILE_HEADERS_ONLY, formatPatch, type StructuredPatchHunk, structuredPatch } from 'diff';
import { isObject, type Json } from '../../kernel/index.ts';

/**
 * Limits of the search for the shortest diff: the lines that are removed or added, and the lines of
 * both sources together. Beyond either, the diff replaces the whole text. The time grows with the
 * square of the edits: these take a tenth of a second. A limit in time would give another diff on a
 * busy machine.
 */
const MAX_EDITS = 1000;
const MAX_LINES = 50_000;
const CONTEXT_LINES = 3;

export type SourceDifference = { text: string; hunks: StructuredPatchHunk[] };

/**
 * A unified diff of two sources. It never takes long: if sources have too little in common, one
 * replaces the other.
 */
export function compareSources(
  from: { name: string; source: string },
  to: { name: string; source: string },
): SourceDifference {
  const search = { context: CONTEXT_LINES, maxEditLength: MAX_EDITS };
  const patch =
    (countLines(from.source) + countLines(to.source) <= MAX_LINES &&
      structuredPatch(from.name, to.name, from.source, to.source, undefined, undefined, search)) ||
    replaceAll(from, to);
  return { text: patch.hunks.length === 0 ? '' : formatPatch(patch, FILE_HEADERS_ONLY), hunks: patch.hunks };
}

function countLines(text: string): number {
  let lines = 1;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines += 1;
  return lines;
}

function replaceAll(from: { name: string; source: string }, to: { name: string; source: string }) {
  const removed = sideLines(from.source, '-');
  const added = sideLines(to.source, '+');
  const hunk: StructuredPatchHunk = {
    oldStart: 1,
    oldLines: removed.count,
    newStart: 1,
    newLines: added.count,
    lines: [...removed.lines, ...added.lines],
  };
  return {
    oldFileName: from.name,
    newFileName: to.name,
    oldHeader: undefined,
    newHeader: undefined,
    hunks: from.source === to.source ? [] : [hunk],
  };
}

/** The lines of one side of a hunk, with the mark for a last line without a line break. */
function sideLines(source: string, sign: '-' | '+'): { lines: string[]; count: number } {
  if (source === '') return { lines: [], count: 0 };
  const ended = source.endsWith('\n');
  const lines = (ended ? source.slice(0, -1) : source).split('\n').map((line) => `${sign}${line}`);
  const count = lines.length;
  return { lines: ended ? lines : [...lines, '\\ No newline at end of file'], count };
}

/** A value that differs. `path` is a JSON pointer (RFC 6901); an absent value is `null`. */
export type ValueChange = { path: string; from: Json; to: Json };

const segment = (name: string): string => name.replace(/~/g, '~0').replace(/\//g, '~1');
const holdsObjects = (value: unknown): value is unknown[] => Array.isArray(value) && value.some(isObject);

/**
 * The values in which two JSON documents differ. Objects are compared by member, lists of objects
 * by position. Lists of plain values are compared as a whole.
 */
export function compareJson(from: unknown, to: unknown, path = ''): ValueChange[] {
  if (isDeepStrictEqual(from, to)) return [];
  if (isObject(from) && isObject(to)) {
    const names = [...new Set([...Object.keys(from), ...Object.keys(to)])];
    return names.flatMap((name) => compareJson(own(from, name), own(to, name), `${path}/${segment(name)}`));
  }
  if (Array.isArray(from) && Array.isArray(to) && (holdsObjects(from) || holdsObjects(to))) {
    const length = Math.max(from.length, to.length);
    return Array.from({ length }, (_, index) => compareJson(from[index], to[index], `${path}/${index}`)).flat();
  }
  return [{ path, from: toJson(from), to: toJson(to) }];
}

const own = (object: Record<string, unknown>, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined;
const toJson = (value: unknown): Json => (value === undefined ? null : (value as Json));
