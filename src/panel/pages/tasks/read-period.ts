const presets: Readonly<Record<string, number>> = { '24h': 1, '7d': 7, '30d': 30, '90d': 90 };

export const periods = Object.keys(presets);

/** A day of the local calendar, as a field of type date has it. */
const day = /^(\d{4})-(\d{2})-(\d{2})$/;

/**
 * The seconds between which tasks were created; null is no bound. A preset begins at a whole
 * minute, so that the same list keeps the same address for a while.
 */
export function readPeriod(
  { period, from, to }: Readonly<Record<'period' | 'from' | 'to', string>>,
  now: Date,
): { since: string | null; until: string | null } {
  const days = presets[period];
  if (days !== undefined) {
    const minute = Math.floor(now.getTime() / 60_000) * 60;
    return { since: String(minute - days * 86_400), until: null };
  }
  const start = midnight(from, 0);
  const end = midnight(to, 1);
  return { since: start === null ? null : String(start), until: end === null ? null : String(end - 1) };
}

function midnight(text: string, daysLater: number): number | null {
  const [, year, month, date] = day.exec(text) ?? [];
  if (year === undefined) return null;
  // Not 86,400 seconds: a day may have another length.
  const time = new Date(Number(year), Number(month) - 1, Number(date) + daysLater).getTime() / 1000;
  return Number.isFinite(time) && time >= 0 ? time : null;
}
