import { existsSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import { isObject, OperatorError, parseJson } from '../../kernel/index.ts';

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

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** Lines and columns count from 1. */
type SourcePlace = { file: string; line: number; column: number };
type Segment = { column: number; source: number; line: number; sourceColumn: number };

/** The numbers of a segment: Base64 digits of five bits, the lowest first, then the sign. */
function readNumbers(text: string): number[] {
  const numbers: number[] = [];
  let value = 0;
  let shift = 0;
  for (const digit of text) {
    const bits = DIGITS.indexOf(digit);
    value += (bits & 31) << shift;
    shift += 5;
    if ((bits & 32) !== 0) continue;
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    value = 0;
    shift = 0;
  }
  return numbers;
}

/**
 * Reads the `mappings` of a source map (ECMA-426). The result gives the place that a position of
 * the generated text comes from, by the last segment before it on its line.
 */
function readSourceMap(
  mappings: string,
  files: readonly string[],
): (line: number, column: number) => SourcePlace | undefined {
  let [source, line, sourceColumn] = [0, 0, 0];
  const lines = mappings.split(';').map((segments) => {
    let column = 0;
    return segments.split(',').flatMap((text): Segment[] => {
      const [columnStep = 0, sourceStep, lineStep = 0, sourceColumnStep = 0] = readNumbers(text);
      column += columnStep;
      if (sourceStep === undefined) return [];
      source += sourceStep;
      line += lineStep;
      sourceColumn += sourceColumnStep;
      return [{ column, source, line, sourceColumn }];
    });
  });
  return (at, column) => {
    const segment = lines[at - 1]?.findLast((one) => one.column < column) ?? lines[at - 1]?.[0];
    const file = segment && files[segment.source];
    return segment === undefined || file === undefined
      ? undefined
      : { file, line: segment.line + 1, column: segment.sourceColumn + 1 };
  };
}
