import { expect, test } from 'bun:test';
import { countDays, readDates, readPeriod } from '../../src/panel/pages/usage/usage-period.ts';
import { axes, labelInterval, sides } from '../../src/panel/ui/chart/chart-axis.ts';
import { type Axis, roundTicks } from '../../src/panel/ui/display/round-ticks.ts';
import { createFormat } from '../../src/panel/ui/display/use-format.ts';

test('a column of money has one number of decimals: two, or up to four for small amounts', () => {
  const { moneyLike, percentInColumn } = createFormat('en');
  const column = (...dollars: number[]) =>
    dollars.map((each) => moneyLike(dollars.map((d) => d * 500_000))(each * 500_000));
  expect(column(1, 12.5, 0)).toEqual(['$1.00', '$12.50', '$0.00']);
  expect(column(0.096, 0.1, 0)).toEqual(['$0.096', '$0.100', '$0.000']);
  expect(column(0.000_02, 5)).toEqual(['$0.0000', '$5.0000']);
  expect(column(-0.02, 3)).toEqual(['-$0.02', '$3.00']);
  expect(column(0.0123, 3)).toEqual(['$0.012', '$3.000']);
  expect(column()).toEqual([]);
  expect([0.5, 1 / 3, 0].map(percentInColumn)).toEqual(['50.0%', '33.3%', '0.0%']);
});

/** As `createFormat`, with plain spaces. */
function createPlainFormat(language: string) {
  const format = createFormat(language);
  const plain = (text: string): string => text.replaceAll('\u00a0', ' ');
  const plainAxis = ({ ticks, label }: Axis) => ticks.map((tick) => plain(label(tick)));
  return { ...format, plain, plainAxis };
}

test('no line breaks between a number and its unit', () => {
  const { bytes, duration, elapsed, durationLike } = createFormat('en');
  expect([duration(12), bytes(2048), durationLike([1.5])(1.5)]).toEqual(['12\u00a0sec', '2\u00a0kB', '1.5\u00a0sec']);
  expect(elapsed(174)).toBe('2\u00a0min 54\u00a0sec');
});

test('axes have round ticks, and all labels of one have the same decimals', () => {
  const { moneyAxis, durationAxis, bytesAxis, plainAxis: labels } = createPlainFormat('en');
  expect(labels(moneyAxis(0.013 * 500_000))).toEqual(['$0.000', '$0.005', '$0.010', '$0.015']);
  expect(labels(moneyAxis(0.3 * 500_000))).toEqual(['$0.00', '$0.10', '$0.20', '$0.30']);
  expect(labels(moneyAxis(230 * 500_000))).toEqual(['$0', '$50', '$100', '$150', '$200', '$250']);
  expect(labels(moneyAxis(0))).toEqual(['$0.00', '$0.20', '$0.40', '$0.60', '$0.80', '$1.00']);
  expect(labels(durationAxis(130))).toEqual(['0.0 min', '0.5 min', '1.0 min', '1.5 min', '2.0 min', '2.5 min']);
  expect(labels(bytesAxis(1.5 * 1024 ** 2))).toEqual(['0.0 MB', '0.5 MB', '1.0 MB', '1.5 MB']);
  expect(roundTicks(3, { whole: true }).ticks).toEqual([0, 1, 2, 3]);
  expect(roundTicks(47, { whole: true }).ticks).toEqual([0, 10, 20, 30, 40, 50]);
});

test('durations and sizes have a decimal below ten, in a column all of them or none', () => {
  const { bytes, duration, durationLike, bytesLike, plain } = createPlainFormat('en');
  expect([0.04, 0.58, 1, 9.94, 9.96, 89].map(duration).map(plain)).toEqual([
    ...['0.04 sec', '0.6 sec', '1 sec', '9.9 sec', '10 sec', '89 sec'],
  ]);
  expect([1, 180, 2048, 1008 * 1024].map(bytes).map(plain)).toEqual(['1 byte', '180 bytes', '2 kB', '1 MB']);
  const column = (...seconds: number[]) => seconds.map(durationLike(seconds)).map(plain);
  expect(column(1, 1.4, 12)).toEqual(['1.0 sec', '1.4 sec', '12 sec']);
  expect(column(3, 45, 600)).toEqual(['3 sec', '45 sec', '10 min']);
  expect(column(0.04, 2)).toEqual(['0.04 sec', '2.00 sec']);
  expect([12 * 1024, 1.5 * 1024 ** 2].map(bytesLike([12 * 1024, 1.5 * 1024 ** 2])).map(plain)).toEqual([
    '12 kB',
    '1.5 MB',
  ]);
});

test('periods end today, apart from that of the last month; two dates are a period of their own', () => {
  const now = new Date(2026, 2, 1, 0, 30);
  expect(readDates('today', now)).toEqual({ from: '2026-03-01', to: '2026-03-01' });
  expect(readDates('7d', now)).toEqual({ from: '2026-02-23', to: '2026-03-01' });
  expect(readDates('month', now)).toEqual({ from: '2026-03-01', to: '2026-03-01' });
  expect(readDates('lastMonth', now)).toEqual({ from: '2026-02-01', to: '2026-02-28' });
  expect(readPeriod({ period: '30d', from: '', to: '' })).toBe('30d');
  expect(readPeriod({ period: 'constructor', from: '', to: '' })).toBe('7d');
  expect(readPeriod({ period: '30d', from: '2026-01-01', to: '' })).toBe('custom');
});

test('a period has all days from its first to its last', () => {
  expect(countDays({ from: '2026-03-01', to: '2026-03-07' })).toBe(7);
  expect(countDays({ from: '2026-03-01', to: '2026-03-01' })).toBe(1);
  for (const open of [
    { from: '', to: '2026-03-01' },
    { from: '2026-03-02', to: '2026-03-01' },
  ])
    expect(countDays(open)).toBe(0);
});

test('times below a chart stand evenly, and never closer than one is wide', () => {
  const days = (count: number) => Array<string>(count).fill('Nov 29');
  const hours = (count: number) => Array<string>(count).fill('Sun 12:00 AM');
  const gap = (labels: readonly string[], width: number): number =>
    (width - sides.left - sides.right) / Math.ceil(labels.length / (labelInterval(labels, width) + 1));
  for (const width of [316, 494, 1062]) {
    expect(Math.min(...[1, 7, 30, 90].map((count) => gap(days(count), width)))).toBeGreaterThan(55);
    expect(Math.min(...[24, 168, 336].map((count) => gap(hours(count), width)))).toBeGreaterThan(95);
  }
  expect(labelInterval(days(7), 1062)).toBe(0);
  expect(labelInterval(days(30), 1062)).toBe(1);
  expect(labelInterval(days(30), 316)).toBe(9);
  // Before the chart knows its width.
  expect(labelInterval([], 0)).toBe(0);
});

test('the last time below a chart has its label, and the others stand evenly before it', () => {
  const days = Array.from({ length: 30 }, (_, day) => `Nov ${day + 1}`);
  expect(axes.times(days, 316)).toMatchObject({ interval: 0, ticks: ['Nov 10', 'Nov 20', 'Nov 30'] });
  expect(axes.times(days.slice(0, 2), 316)).toMatchObject({ ticks: ['Nov 1', 'Nov 2'] });
  // A label that stands twice would be drawn at its first place.
  expect(axes.times(['Sun', 'Mon', 'Sun'], 1062)).toMatchObject({ interval: 0 });
  expect(axes.times(['Sun', 'Mon', 'Sun'], 1062)).not.toHaveProperty('ticks');
});

test('the first and the last time below lines have labels, and the others stand evenly between', () => {
  const hours = Array.from({ length: 289 }, (_, index) => `Sun ${100 + index} PM`);
  const ticks = (width: number) => axes.timesOfLines(hours, width).ticks;
  expect(ticks(316)).toEqual(['Sun 100 PM', 'Sun 244 PM', 'Sun 388 PM']);
  expect(ticks(500)).toEqual(['Sun 100 PM', 'Sun 196 PM', 'Sun 292 PM', 'Sun 388 PM']);
  // On a phone a label in the middle would touch the last one, which stands left of its point.
  const days = Array.from({ length: 24 }, (_, index) => `Sun ${10 + index}:00 AM`);
  expect(axes.timesOfLines(days, 324).ticks).toEqual(['Sun 10:00 AM', 'Sun 33:00 AM']);
  expect(axes.timesOfLines(['Sun 1', 'Sun 2'], 316).ticks).toEqual(['Sun 1', 'Sun 2']);
  expect(axes.timesOfLines([], 316).ticks).toEqual([]);
  const twice = [...hours.slice(0, 24), ...hours.slice(0, 25)];
  expect(axes.timesOfLines(twice, 316)).toEqual(expect.objectContaining({ interval: 47 }));
});

test('says how long ago something was in short units', () => {
  const now = 1_000_000_000;
  const past = [20, 180, 75_600, 90_000, 259_200];
  const say = (language: string) => past.map((seconds) => createFormat(language).ago(now - seconds, now));
  expect(say('en')).toEqual(['20 sec ago', '3 min ago', '21 hr ago', 'yesterday', '3 days ago']);
  expect(say('de')).toEqual(['vor 20 Sek.', 'vor 3 Min.', 'vor 21 Std.', 'gestern', 'vor 3 Tagen']);
  expect(createFormat('en').ago(now + 38, now)).toBe('in 38 sec');
});
