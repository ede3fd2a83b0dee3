import type { CleanUpStep, Clock } from '../kernel/index.ts';
import type { Store } from '../store/ports/index.ts';

/**
 * Usage younger than this is not aggregated yet: a transaction of another node, whose clock may
 * differ, may still be running.
 */
export const SETTLING_SECONDS = 120;
/**
 * How long quarters of an hour are kept: a month of any calendar, in any time zone, and some days.
 */
const KEPT_SECONDS = 35 * 86_400;
/** Usage rows that are aggregated in one transaction. */
const ROWS_AT_ONCE = 1000;

type Deps = { store: Store; clock: Clock };

/** Quarters from here on are kept. A day's start, in UTC. */
export const quartersKeptFrom = (now: number): number => now - (now % 86_400) - KEPT_SECONDS;

/** Adds some usage rows to the sums by quarter and day. True when there may be more. */
export const addUpBatch = ({ store, clock }: Deps, limit: number): Promise<boolean> => {
  const now = clock.unix();
  return store.transaction((tx) =>
    tx.usage.addUp({ before: now - SETTLING_SECONDS, keptFrom: quartersKeptFrom(now) }, limit),
  );
};

/** Adds up what is due; concurrent callers share one run. */
export function createUsageAdder(deps: Deps): () => Promise<void> {
  let adding: Promise<void> | undefined;
  async function addUp(): Promise<void> {
    while (await addUpBatch(deps, ROWS_AT_ONCE));
  }
  return () => {
    adding ??= addUp().finally(() => {
      adding = undefined;
    });
    return adding;
  };
}

/** Adds up the last hour's usage, so that a first look need not, and deletes old quarters. */
export const quarterCleanUp = ({ store, clock }: Deps, addUp: () => Promise<void>): CleanUpStep => ({
  step: 'figures by quarter of an hour',
  async deleteBatch() {
    await addUp();
    return store.usage.deleteOld(quartersKeptFrom(clock.unix()));
  },
});
