import { dirname, join } from 'node:path/posix';
import { readImports } from './read-imports.ts';

/**
 * Import cycles among `files` (path → source), type-only imports included: each as the paths of the
 * files that reach one another, in the order in which they do. By Tarjan's algorithm.
 */
export function findCycles(files: ReadonlyMap<string, string>): string[][] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const open: string[] = [];
  const cycles: string[][] = [];

  const lower = (file: string, to: number): void => {
    lowest.set(file, Math.min(lowest.get(file) ?? to, to));
  };
  function visit(file: string): void {
    const number = order.size;
    order.set(file, number);
    lower(file, number);
    open.push(file);
    for (const target of listImports(file, files)) {
      if (!order.has(target)) visit(target);
      if (open.includes(target)) lower(file, lowest.get(target) ?? number);
    }
    if (lowest.get(file) !== number) return;
    const members = open.splice(open.indexOf(file));
    if (members.length > 1) cycles.push(members);
  }

  for (const file of files.keys()) if (!order.has(file)) visit(file);
  return cycles;
}

function listImports(file: string, files: ReadonlyMap<string, string>): string[] {
  return readImports(files.get(file) ?? '')
    .filter(({ specifier }) => specifier.startsWith('.'))
    .map(({ specifier }) => join(dirname(file), specifier))
    .filter((target) => target !== file && files.has(target));
}
