import type { Clock } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { ModelDurations } from '../task-node.ts';

const FRESH_MS = 30_000;
/** They are of tasks that ended within an hour, of the latest of them, of five or more. */
const FROM_SECONDS = 3600;
const FROM_TASKS = 5000;
const FEWEST = 5;

export function createModelDurations({ store, clock }: { store: Store; clock: Clock }): ModelDurations {
  const read = keepFresh(clock, FRESH_MS, async () =>
    (await store.queueView.durations(clock.unix() - FROM_SECONDS, FROM_TASKS)).filter(({ tasks }) => tasks >= FEWEST),
  );
  return { all: () => read('') };
}

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
