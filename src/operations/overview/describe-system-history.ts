import type { Clock } from '../../kernel/index.ts';
import { SAMPLE_SECONDS, type Store } from '../../store/ports/index.ts';
import type { SystemHistory } from './types.ts';

/** What a point of so many hours stands for: at most 200 points, all of whole samples. */
const STEP_SECONDS = { 24: 2 * SAMPLE_SECONDS, 168: 3600, 336: 7200 } as const;
/** Runs of backups that are looked at. */
const MAX_RUNS = 200;

/** The gateway's state over the last hours, in at most 200 points. */
export async function describeSystemHistory(
  { store, clock }: { store: Store; clock: Clock },
  hours: keyof typeof STEP_SECONDS,
): Promise<SystemHistory> {
  const step = STEP_SECONDS[hours];
  const now = clock.unix();
  const end = now - (now % step) + step;
  const from = end - hours * 3600;
  const [nodes, gateway, runs] = await Promise.all([
    store.samples.nodes(from, step),
    store.samples.gateway(from, step),
    store.backups.latest(MAX_RUNS),
  ]);
  const ofNodes = new Map(nodes.map((sample) => [sample.start, sample]));
  const shared = new Map(gateway.map((sample) => [sample.start, sample]));
  return {
    step_seconds: step,
    points: Array.from({ length: (end - from) / step }, (_, i) => {
      const at = from + i * step;
      const node = ofNodes.get(at);
      const whole = shared.get(at);
      return {
        at,
        polls: node?.polls ?? null,
        lag_ms: node?.lagMs ?? null,
        unfinished: whole?.unfinished ?? null,
        due: whole?.due ?? null,
        lateness_ms: whole?.latenessMs ?? null,
        database_bytes: whole?.databaseBytes ?? null,
      };
    }),
    backups: runs
      .filter(({ startedAt, endedAt }) => startedAt >= from && endedAt > 0)
      .reverse()
      .map(({ startedAt, endedAt, status, bytes }) => ({
        at: startedAt,
        seconds: Math.max(0, endedAt - startedAt),
        done: status === 'done',
        bytes,
      })),
  };
}
