/** A date of a calendar, as `2026-11-26`. */
const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** Longer than any name of the time zone database. */
const MAX_ZONE = 64;

/** Whether this is the name of a time zone that the gateway knows, such as `Asia/Kolkata`. */
export function isTimeZone(name: string): boolean {
  if (name.length > MAX_ZONE || !/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** The number of a date's day since 1970; undefined if there is no such date. */
export function readDate(text: string): number | undefined {
  const [, year = '', month = '', day = ''] = DATE.exec(text) ?? [];
  const at = new Date(0);
  at.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  return text !== '' && at.toISOString().startsWith(`${text}T`) ? at.getTime() / DAY_MS : undefined;
}

export type ZoneClock = {
  /** Unix seconds at which a day (since 1970) of the zone's calendar begins. */
  dayStart(day: number): number;
  /** The day that a time (Unix seconds) falls on. */
  toDay(at: number): number;
  /** The hour of the day that clocks of the zone show then, from 0 to 23. */
  toHour(at: number): number;
};

/** The calendar of a time zone. */
export function createZoneClock(zone: string): ZoneClock {
  const format = new Intl.DateTimeFormat('en-u-ca-iso8601', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });

  /** What a clock in the zone shows, as if it were UTC. */
  function localMs(ms: number): number {
    const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
    const part = (name: Intl.DateTimeFormatPartTypes): number => parts.get(name) ?? 0;
    return Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
  }

  const toDay = (ms: number): number => Math.floor(localMs(ms) / DAY_MS);

  return {
    toDay: (at) => toDay(at * 1000),
    toHour: (at) => Math.floor((localMs(at * 1000) % DAY_MS) / HOUR_MS),
    dayStart(day) {
      const midnight = day * DAY_MS;
      const offsetAt = (ms: number): number => localMs(ms) - ms;
      // The offset at midnight is known only when midnight is; two steps find it.
      const guess = midnight - offsetAt(midnight);
      let start = midnight - offsetAt(guess);
      // Where clocks go forward at midnight, the day begins with the first time that exists.
      while (toDay(start) < day) start += 900_000;
      return start / 1000;
    },
  };
}
