/** Periods by name. All end today, apart from that of the last month. */
export const periodNames = ['today', '7d', '30d', '90d', 'month', 'lastMonth', 'custom'] as const;
export type PeriodName = (typeof periodNames)[number];

const defaultPeriod: PeriodName = '7d';

export type Dates = { from: string; to: string };

const isPeriodName = (text: string): text is PeriodName => (periodNames as readonly string[]).includes(text);

/** The period that the address names; two dates of its own are a custom one. */
export function readPeriod({ period, from, to }: { period: string; from: string; to: string }): PeriodName {
  if (from !== '' || to !== '') return 'custom';
  return isPeriodName(period) ? period : defaultPeriod;
}

/** The first and the last date of a period, as the reader's calendar counts them. */
export function readDates(name: Exclude<PeriodName, 'custom'>, now: Date): Dates {
  const day = (year: number, month: number, date: number): Date => new Date(year, month, date, 12);
  const [year, month, date] = [now.getFullYear(), now.getMonth(), now.getDate()];
  const today = day(year, month, date);
  const back = (days: number): Dates => ({ from: isoDate(day(year, month, date - days + 1)), to: isoDate(today) });
  switch (name) {
    case 'today':
      return back(1);
    case '7d':
      return back(7);
    case '30d':
      return back(30);
    case '90d':
      return back(90);
    case 'month':
      return { from: isoDate(day(year, month, 1)), to: isoDate(today) };
    case 'lastMonth':
      return { from: isoDate(day(year, month - 1, 1)), to: isoDate(day(year, month, 0)) };
  }
}

/** The period of the same length right before this one. */
export function datesBefore({ from, to }: Dates): Dates {
  const at = (text: string): number => Date.parse(`${text}T12:00:00Z`);
  const dayMs = 86_400_000;
  const iso = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
  return { from: iso(2 * at(from) - at(to) - dayMs), to: iso(at(from) - dayMs) };
}

/** How many days two dates span, both included; 0: one of them is open. */
export function countDays({ from, to }: Dates): number {
  const days = (Date.parse(`${to}T12:00:00Z`) - Date.parse(`${from}T12:00:00Z`)) / 86_400_000 + 1;
  return Number.isFinite(days) ? Math.max(0, days) : 0;
}

let zone: string | undefined;

/** The reader's time zone, by its IANA name. Read once: the browser takes milliseconds for it. */
export function localZone(): string {
  zone ??= new Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';
  return zone;
}

function isoDate(date: Date): string {
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${String(date.getFullYear()).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}
