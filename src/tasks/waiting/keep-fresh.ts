import type { Clock } from '../../kernel/index.ts';

/** Reads that are at most `ms` old, one for all that ask at a time. A failure is not kept. */
export function keepFresh<T>(
  clock: Clock,
  ms: number,
  read: (name: string) => Promise<T>,
): (name: string) => Promise<T> {
  const kept = new Map<string, { until: number; value: Promise<T> }>();
  return (name) => {
    const now = clock.monotonicMs();
    const found = kept.get(name);
    if (found && found.until > now) return found.value;
    for (const [other, { until }] of kept) if (until <= now) kept.delete(other);
    const fresh = { until: now + ms, value: read(name) };
    kept.set(name, fresh);
    fresh.value.catch(() => kept.get(name) === fresh && kept.delete(name));
    return fresh.value;
  };
}
