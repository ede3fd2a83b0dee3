import { existsSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { isObject, OperatorError, parseJson } from '../../kernel/index.ts';
import { readSourceMap, type SourcePlace } from './read-source-map.ts';

export type BundledPlugin = {
  /** One JavaScript module, which an upload takes. */
  source: string;
  /** The files that it was made of, as paths from the current folder. */
  files: string[];
  /** The place in the author's files; lines and columns count from 1. */
  place(line: number, column: number): SourcePlace | undefined;
};

/**
 * Makes one JavaScript module of a TypeScript file and what it imports. Checks no types: an editor
 * or `tsc` does. The same files give the same text on every machine.
 *
 * @throws `OperatorError` with what is wrong, each with its place
 */
export async function bundlePlugin(file: string): Promise<BundledPlugin> {
  if (!existsSync(file)) throw new OperatorError(`${file} cannot be read (ENOENT)`);
  const built = await Bun.build({
    entrypoints: [resolve(file)],
    root: dirname(resolve(file)),
    format: 'esm',
    target: 'browser',
    sourcemap: 'external',
    throw: false,
  });
  const [script, map] = ['entry-point', 'sourcemap'].map((kind) => built.outputs.find((one) => one.kind === kind));
  if (!built.success || !script || !map) throw new OperatorError(built.logs.map(describeLog).join('\n'));
  const sourceMap = parseJson(await map.text());
  if (!isObject(sourceMap)) throw new Error('the bundler gave no source map');
  const { sources, mappings } = sourceMap as { sources: string[]; mappings: string };
  const files = sources.map((source) => relative('', resolve(source)));
  return {
    source: withoutPaths(await script.text(), files, dirname(file)),
    files: files.filter(existsSync),
    place: readSourceMap(mappings, files),
  };
}

type BuildLog = { message: string; position?: { file: string; line: number; column: number } | null };

function describeLog({ message, position }: BuildLog): string {
  const at = position ? `${relative('', position.file)}:${position.line}:${position.column}: ` : '';
  return `${at}${message}`;
}

/** Names of files are written as seen from the plugin, so that they do not tell of a machine. */
function withoutPaths(text: string, files: readonly string[], folder: string): string {
  const names = new Map(files.map((file) => [`// ${file}`, `// ${relative(folder, file)}`]));
  const lines = text.split('\n').map((line) => names.get(line) ?? line);
  return `${lines
    .join('\n')
    .replace(/\n\/\/# debugId=[0-9A-F]+\s*$/, '')
    .trimEnd()}\n`;
}
