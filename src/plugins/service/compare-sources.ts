import { FILE_HEADERS_ONLY, formatPatch, type StructuredPatchHunk, structuredPatch } from 'diff';

/**
 * Limits of the search for the shortest diff: its time, and the lines of both sources together.
 * Beyond either, the diff replaces the whole text.
 */
const SEARCH_MS = 100;
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
  const search = { context: CONTEXT_LINES, timeout: SEARCH_MS };
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
