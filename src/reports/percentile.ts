import { DURATION_LIMITS } from '../store/ports/index.ts';

type EndedOfClass = { kind: 'settle' | 'refund'; duration: number; tasks: number };

/**
 * A percentile of the successes' durations in seconds, from their histogram. Within a class it
 * interpolates, so it is exact only to the class.
 */
export function percentile(usage: readonly EndedOfClass[], share: number): number | undefined {
  const counts = new Map<number, number>();
  let total = 0;
  for (const { kind, duration, tasks } of usage) {
    if (kind === 'refund' || duration < 0) continue;
    counts.set(duration, (counts.get(duration) ?? 0) + tasks);
    total += tasks;
  }
  let left = total * share;
  for (const [duration, tasks] of [...counts].sort(([a], [b]) => a - b)) {
    if (left > tasks) {
      left -= tasks;
      continue;
    }
    const low = DURATION_LIMITS[duration - 1] ?? 0;
    const high = DURATION_LIMITS[duration] ?? low;
    return Math.round((low + (high - low) * (left / tasks)) * 10) / 10;
  }
  return undefined;
}
