import { retentionSteps } from '../../src/operations/index.ts';
import type { Database } from './databases.ts';
import type { SeededRandom } from './random.ts';
import { EPOCH_MS } from './world.ts';

const DAY_MS = 86_400_000;
const AGE_DAYS = 400;
const DAYS = 30;
const BATCH = 7;
/** Far more than there are rows. */
const MOST_RUNS = 200;

/** What `taskgate doctor` would say of the money. */
export type Imbalances = unknown;

/**
 * Runs the product's retention over all that a history has left, long after it. Some runs break off
 * in the middle, and the next starts over. Returns what the product's own check of sums finds.
 */
export async function removeOldRows(database: Database, endMs: number, random: SeededRandom): Promise<Imbalances> {
  const nowMs = EPOCH_MS + endMs + AGE_DAYS * DAY_MS;
  const clock = {
    ...{ nowMs: () => nowMs, unix: () => Math.floor(nowMs / 1000), monotonicMs: () => endMs },
    sleep: () => Promise.resolve(),
  };
  const store = await database.open(clock);
  try {
    await database.setTime(nowMs);
    const settings = {
      ...{ enabled: true, promptDays: DAYS, requestDays: DAYS, answerDays: DAYS, taskDays: DAYS },
      ...{ eventDays: DAYS, usageDays: DAYS, ledgerDays: DAYS, webhookDays: DAYS },
    };
    for (const isWhole of [false, true]) {
      let left = isWhole ? MOST_RUNS : random.below(10);
      for (const step of await retentionSteps({ store, clock }, settings))
        while (left-- > 0 && (await step.run(BATCH)).walked > 0);
    }
    return await store.ledger.imbalances(10);
  } finally {
    await store.close();
  }
}
