import { createElement, type ReactNode, useMemo } from 'react';
import { useTranslation } from 'react-i18next';

/** Pixels of a chart. */
export type ViewSize = { height: number; width: number };

/** The most pixels beside bars: for the labels of values at the left, half a time at the right. */
export const sides = { left: 64, right: 40 };

/** Pixels to the right of lines: half of a dot. The last time ends below it. */
export const lineEnd = 4;

/** Pixels: at most those of a character, on average, and the gap between two labels. */
const characterWidth = 7;
const labelGap = 18;
/** Between the label of a value and the plot. */
const valueGap = 20;

/**
 * How many labels have room in a chart of that many pixels, where each needs `room` of its widths
 * and the plot ends `right` pixels before the chart. The chart library would lay the page out for
 * each label to measure it.
 */
function countFitting(labels: readonly string[], width: number, { room, right }: { room: number; right: number }) {
  const labelWidth = labelGap + room * characterWidth * Math.max(0, ...labels.map(({ length }) => length));
  return Math.max(1, Math.floor((width - sides.left - right) / labelWidth));
}

/** How many points have no label between two that have one. */
export const labelInterval = (labels: readonly string[], width: number): number =>
  Math.max(0, Math.ceil(labels.length / countFitting(labels, width, { room: 1, right: sides.right })) - 1);

/** Pixels to the right of bars: how far the last label reaches beyond its bar. */
export function roomAfterBars(labels: readonly string[], width: number): number {
  const halfLabel = (characterWidth * (labels.at(-1)?.length ?? 0)) / 2;
  return Math.max(2, Math.ceil(halfLabel - (width - sides.left) / (2 * Math.max(1, labels.length))));
}

/** Puts labels from the last point backwards: the last one says how new the figures are. */
function placeLabels(labels: readonly string[], interval: number) {
  // The chart library finds a point by its label: a label of the second week would mean the first.
  if (new Set(labels).size < labels.length) return { interval };
  const last = labels.length - 1;
  return { interval: 0, ticks: labels.filter((_, index) => (last - index) % (interval + 1) === 0) };
}

/** Puts labels at the first and the last point, and the others evenly between them. */
function spreadLabels(labels: readonly string[], fitting: number) {
  const last = Math.max(0, labels.length - 1);
  if (new Set(labels).size < labels.length) {
    // By steps alone, the last point has a label only where they divide the points.
    const step = Math.ceil(labels.length / fitting);
    const steps = Array.from({ length: step }, (_, more) => step + more);
    return { interval: (steps.find((each) => last % each === 0) ?? step) - 1 };
  }
  const parts = Math.max(1, Math.min(last, fitting));
  const places = Array.from({ length: parts + 1 }, (_, part) => Math.round((part * last) / parts));
  return { interval: 0, ticks: labels.filter((_, index) => places.includes(index)) };
}

const label = { fontSize: 12, fill: 'currentColor', width: 0 };

type TimeTick = {
  x: number | string;
  y: number | string;
  payload: { value: string };
  index: number;
  visibleTicksCount: number;
};

function toAnchor(index: number, count: number): 'start' | 'middle' | 'end' {
  if (count === 1 || (index > 0 && index < count - 1)) return 'middle';
  return index === 0 ? 'start' : 'end';
}

/** Axes whose labels are drawn as they are: none is measured, or broken into lines. */
export const axes = {
  times: (labels: readonly string[], width: number) => ({
    ...placeLabels(labels, labelInterval(labels, width)),
    tick: { ...label, transform: 'translate(0, 10)' },
  }),
  /**
   * Lines reach the edges of their chart: their first and last labels stand within it, half a label
   * nearer to the next one.
   */
  timesOfLines: (labels: readonly string[], width: number) => ({
    ...spreadLabels(labels, countFitting(labels, width, { room: 1.5, right: lineEnd })),
    tick: ({ x, y, payload, index, visibleTicksCount }: TimeTick): ReactNode =>
      createElement(
        'text',
        {
          ...{ x, y: Number(y) + 10, dy: '0.71em', fontSize: label.fontSize, fill: label.fill },
          textAnchor: toAnchor(index, visibleTicksCount),
        },
        payload.value,
      ),
  }),
  /** Charts beside each other have the same width for their values. */
  values: (ticks: readonly number[], write: (value: number) => string, width?: number) => ({
    width: width ?? measureWidth(ticks.map(write)),
    ticks: [...ticks],
    domain: [0, ticks.at(-1) ?? 1],
    interval: 0,
    tickFormatter: write,
    tick: { ...label, transform: 'translate(-10, 0)' },
  }),
};

/** The width of the value axis: no more than its longest label needs. */
const measureWidth = (labels: readonly string[]): number =>
  Math.min(sides.left, valueGap + characterWidth * Math.max(0, ...labels.map(({ length }) => length)));

/** The grid would measure the times once more, for lines that are not drawn. */
export const noVerticalLines = { verticalCoordinatesGenerator: (): number[] => [] };

/** Unix seconds as the label of an axis and of a table, in the reader's time zone. */
export function useChartTimes(): { short(at: number): string; long(at: number): string } {
  const { i18n } = useTranslation();
  return useMemo(() => {
    const full = new Intl.DateTimeFormat(i18n.language, { dateStyle: 'medium', timeStyle: 'short' });
    const axis = formatHours(i18n.language);
    return { short: (at) => axis(new Date(at * 1000)), long: (at) => full.format(at * 1000) };
  }, [i18n.language]);
}

/**
 * An hour of a week, "Wed 15:00". Not in one format: some languages put the day in brackets behind
 * the time, which is too wide for the axis on a phone.
 */
export function formatHours(language: string, timeZone?: string): (at: Date) => string {
  const zone = timeZone === undefined ? {} : { timeZone };
  const day = new Intl.DateTimeFormat(language, { weekday: 'short', ...zone });
  const hour = new Intl.DateTimeFormat(language, { hour: 'numeric', minute: '2-digit', ...zone });
  return (at) => `${day.format(at)} ${hour.format(at)}`;
}
