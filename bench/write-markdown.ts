import type { Compared } from './compare-figures.ts';
import { formatValue, showAim, showSide } from './print-figures.ts';

/** Rows that show where time goes begin with it. */
export const BUDGET = 'budget: ';

/**
 * The figures as docs/performance.md has them: a line for each figure, and the budgets as a table
 * with a column for each request. The other build is the earlier one and stands on the left.
 */
export function formatMarkdown(figures: readonly Compared[], compares: boolean): string {
  const isBudget = ({ row }: Compared) => row.startsWith(BUDGET);
  const tables = [
    formatRows(
      figures.filter((figure) => !isBudget(figure)),
      compares,
    ),
    formatBudgets(figures.filter(isBudget), compares),
  ];
  return tables
    .filter((lines) => lines.length > 2)
    .map((lines) => `${lines.join('\n')}\n`)
    .join('\n');
}

function formatRows(figures: readonly Compared[], compares: boolean): string[] {
  const head = compares
    ? ['| row | figure | before | after | better by | aim |', '|---|---|---|---|---|---|']
    : ['| row | figure | measured | aim |', '|---|---|---|---|'];
  let last = '';
  const lines = figures.map((figure) => {
    const { row, gain, withinNoise } = figure;
    const what = row === last ? '' : row;
    last = row;
    const ratio = gain === undefined ? '' : `× ${gain.toFixed(2)}${withinNoise ? ' (noise)' : ''}`;
    const own = showSide(figure, figure.this);
    const cells = compares ? [showSide(figure, figure.other), own, ratio] : [own];
    return `| ${[what, figure.name, ...cells, showAim(figure)].join(' | ')} |`;
  });
  return [...head, ...lines];
}

function formatBudgets(figures: readonly Compared[], compares: boolean): string[] {
  const rows = [...new Set(figures.map(({ row }) => row))];
  const spenders = [...new Set(figures.map(({ name }) => name))];
  const cell = (row: string, name: string): string => {
    const figure = figures.find((each) => each.row === row && each.name === name);
    const sides = figure && (compares ? [figure.other, figure.this] : [figure.this]);
    return sides?.map((side) => (side === undefined ? '–' : formatValue(side.median))).join(' → ') ?? '';
  };
  return [
    `| µs | ${rows.map((row) => row.slice(BUDGET.length)).join(' | ')} |`,
    `|---${'|---'.repeat(rows.length)}|`,
    ...spenders.map((name) => `| ${[name, ...rows.map((row) => cell(row, name))].join(' | ')} |`),
  ];
}
