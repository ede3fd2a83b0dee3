import type { Compared, Spread } from './compare-figures.ts';

/** Three digits that count, with separators of thousands. */
export function formatValue(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const whole = Math.abs(value);
  const digits = whole === 0 || whole >= 100 ? 0 : whole >= 10 ? 1 : whole >= 1 ? 2 : 3;
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** The lines of one part: each row's name, then its figures. */
export function formatFigures(figures: readonly Compared[], compares: boolean): string[] {
  const lines: string[] = [];
  let last = '';
  for (const figure of figures) {
    if (figure.row !== last) lines.push(figure.row);
    last = figure.row;
    lines.push((compares ? besideLine(figure) : aloneLine(figure)).trimEnd());
  }
  return lines;
}

function aloneLine(figure: Compared): string {
  return `  ${figure.name.padEnd(26)} ${showSide(figure, figure.this).padEnd(38)} ${showAim(figure)}`;
}

function besideLine(figure: Compared): string {
  const { gain, withinNoise } = figure;
  const ratio = gain === undefined ? '' : `× ${gain.toFixed(2)}`;
  const noise = withinNoise ? 'within the noise' : '';
  const sides = [figure.this, figure.other].map((side) => showSide(figure, side).padEnd(38)).join(' ');
  return `  ${figure.name.padEnd(26)} ${sides} ${ratio.padEnd(8)} ${noise.padEnd(17)} ${showAim(figure)}`;
}

/** The median, and between which values it stands where there are several. */
export function showSide({ unit }: Pick<Compared, 'unit'>, side: Spread | undefined): string {
  if (side === undefined) return '–';
  const range = side.values.length > 1 ? ` (${formatValue(side.min)}–${formatValue(side.max)})` : '';
  return `${formatValue(side.median)} ${unit}${range}`;
}

export function showAim({ aim, better, unit, aimMet }: Compared): string {
  if (aim === undefined) return '';
  const verdict = aimMet === undefined ? '' : aimMet ? 'met' : 'MISSED';
  return `${better === 'higher' ? '≥' : '≤'} ${aim.toLocaleString('en')} ${unit} ${verdict}`;
}
