const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** Lines and columns count from 1. */
export type SourcePlace = { file: string; line: number; column: number };
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
export function readSourceMap(
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
