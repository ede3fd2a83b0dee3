import { type Figure, percentile } from './figures.ts';

/** The values of one figure in several runs. */
export type Spread = { median: number; min: number; max: number; values: number[] };

/** One figure of both builds. A side is absent where its build could not be measured. */
export type Compared = Omit<Figure, 'value'> & {
  this: Spread | undefined;
  other: Spread | undefined;
  /** How many times as good this build is, by the medians: above 1 is better. */
  gain: number | undefined;
  /**
   * Whether the ranges of both builds touch, so that chance may have made the difference; absent
   * where a build was measured once.
   */
  withinNoise: boolean | undefined;
  aimMet: boolean | undefined;
};

export type Side = 'this' | 'other';

/**
 * Whose turn it is: the builds alternate, and the one that begins changes too, so that what warms
 * up or fills up on the way meets both alike.
 */
export function orderOfRuns(repeat: number, compares: boolean): Side[] {
  if (!compares) return Array.from({ length: repeat }, () => 'this');
  return Array.from({ length: repeat }, (_, round): Side[] =>
    round % 2 === 0 ? ['this', 'other'] : ['other', 'this'],
  ).flat();
}

export function measureSpread(values: number[]): Spread | undefined {
  if (values.length === 0) return undefined;
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const median =
    sorted.length % 2 === 1 ? percentile(sorted, 0.5) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
  return { median, min: sorted[0] ?? median, max: sorted.at(-1) ?? median, values };
}

/**
 * Puts the figures of all runs together, row by row in the order of the first run; what only the
 * other build has comes last in its row.
 */
export function compareFigures(runs: Record<Side, Figure[][]>): Compared[] {
  const kinds = new Map<string, { figure: Figure; this: number[]; other: number[] }>();
  for (const side of ['this', 'other'] as const) {
    for (const figure of runs[side].flat()) {
      const key = JSON.stringify([figure.row, figure.name]);
      const kind = kinds.get(key) ?? { figure, this: [], other: [] };
      kinds.set(key, kind);
      kind[side].push(figure.value);
    }
  }
  const rows = [...new Set([...kinds.values()].map(({ figure }) => figure.row))];
  const ordered = rows.flatMap((name) => [...kinds.values()].filter(({ figure }) => figure.row === name));
  return ordered.map(({ figure, ...values }) => {
    const { value: _, ...what } = figure;
    const [own, others] = [measureSpread(values.this), measureSpread(values.other)];
    return {
      ...what,
      this: own,
      other: others,
      gain: own && others && measureGain(figure.better, own.median, others.median),
      withinNoise: own && others && figure.better && areNear(own, others),
      aimMet: own && isMet(figure, own.median),
    };
  });
}

function measureGain(better: Figure['better'], own: number, others: number): number | undefined {
  if (better === undefined) return undefined;
  const [over, under] = better === 'higher' ? [own, others] : [others, own];
  return under === 0 ? undefined : over / under;
}

const areNear = (one: Spread, two: Spread): boolean | undefined =>
  one.values.length < 2 || two.values.length < 2 ? undefined : one.min <= two.max && two.min <= one.max;

function isMet({ aim, better }: Figure, value: number): boolean | undefined {
  if (aim === undefined) return undefined;
  return better === 'higher' ? value >= aim : value <= aim;
}
