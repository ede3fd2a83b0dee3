/** A failed run of the schedule is tried again after this. */
export const RETRY_SECONDS = 3600;

/** The latest moment at which a daily backup was due, in the time zone of this process. */
export function lastDue(now: number, hour: number): { id: string; at: number } {
  const day = new Date(now * 1000);
  if (day.getHours() < hour) day.setDate(day.getDate() - 1);
  day.setHours(hour, 0, 0, 0);
  const pad = (part: number) => String(part).padStart(2, '0');
  const name = `${day.getFullYear()}-${pad(day.getMonth() + 1)}-${pad(day.getDate())}`;
  return { id: `daily ${name}`, at: Math.floor(day.getTime() / 1000) };
}
