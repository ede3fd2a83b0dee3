/** One import of a file: what it names, on which line, and whether it brings types only. */
export type ImportedModule = { specifier: string; line: number; typeOnly: boolean };

const patterns = [
  // import … from 'x' and export … from 'x', over several lines too; a comment's line does not
  // begin with the keyword.
  /^[ \t]*(?:import|export)(?<type>\s+type\b)?\s+(?:[\w$*{][^;'"`]*?\s+)?from\s*['"](?<specifier>[^'"]+)['"]/gm,
  // import 'x'
  /^[ \t]*import\s*['"](?<specifier>[^'"]+)['"]/gm,
  // import('x') and typeof import('x'), outside comment lines
  /^(?![ \t]*(?:\*|\/\/|\/\*)).*?\bimport\(\s*['"](?<specifier>[^'"]+)['"]/gm,
];

/**
 * The imports in a source text, type-only ones included. Read from the text, since a transpiler's
 * scan drops imports that are types only.
 */
export function readImports(source: string): ImportedModule[] {
  const found = patterns.flatMap((pattern) =>
    [...source.matchAll(pattern)].map((match) => ({
      specifier: match.groups?.specifier ?? '',
      line: source.slice(0, match.index + match[0].length).split('\n').length,
      typeOnly: match.groups?.type !== undefined,
    })),
  );
  return found.sort((a, b) => a.line - b.line);
}
