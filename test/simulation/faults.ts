import type { SeededRandom } from './random.ts';
import type { World } from './world.ts';

/** How likely each fault is, each time that it could happen. A history has some of them. */
export type FaultRates = {
  /** A process dies before or after a call that leaves it. */
  death: number;
  /** The database does not answer: before it has done anything, within a transaction, or after. */
  database: number;
  /** A call of the database takes up to two seconds. */
  databaseDelay: number;
  /** No connection: not one byte was sent. */
  unreachable: number;
  /** The request is lost on its way. */
  requestLost: number;
  /** The receiver has done what was asked, and its answer is lost. */
  answerLost: number;
  /** An answer takes up to two minutes. */
  slow: number;
  /** 429, with Retry-After or without. */
  busy: number;
  /** 5xx, before anything was done. */
  broken: number;
  /** 5xx, although it was done. */
  brokenAfter: number;
  /** An answer that is not an answer. */
  garbage: number;
  /** A poll tells an earlier status. */
  backwards: number;
  /** The vendor has forgotten the job. */
  forgotten: number;
  /** Plugin code cannot be run now. */
  sandbox: number;
};

export type Faults = {
  readonly rates: FaultRates;
  /** Faults come to an end, so that everything can. */
  heal(): void;
  isHealed(): boolean;
  draw(fault: keyof FaultRates): boolean;
  database(when: 'before' | 'inside' | 'after'): boolean;
  databaseDelayMs(): number;
};

export const NO_FAULTS: FaultRates = {
  ...{ death: 0, database: 0, databaseDelay: 0, unreachable: 0, requestLost: 0, answerLost: 0, slow: 0 },
  ...{ busy: 0, broken: 0, brokenAfter: 0, garbage: 0, backwards: 0, forgotten: 0, sandbox: 0 },
};
/** The highest rate of each fault. */
const MOST: FaultRates = {
  ...{ death: 0.01, database: 0.02, databaseDelay: 0.1, unreachable: 0.2, requestLost: 0.1, answerLost: 0.15 },
  ...{
    slow: 0.2,
    busy: 0.3,
    broken: 0.2,
    brokenAfter: 0.1,
    garbage: 0.1,
    backwards: 0.3,
    forgotten: 0.02,
    sandbox: 0.1,
  },
};

/**
 * Each history has about a third of the faults, some rare and some frequent: with all of them at
 * once nothing would get far enough to break.
 */
export function drawRates(random: SeededRandom): FaultRates {
  const rates = { ...NO_FAULTS };
  for (const name of Object.keys(MOST) as (keyof FaultRates)[]) {
    if (random.chance(0.35)) rates[name] = MOST[name] * random.pick([1, 0.3, 0.1]);
  }
  return rates;
}

export function createFaults(world: World, rates: FaultRates): Faults {
  const random = world.random.fork();
  let healed = false;
  const draw = (fault: keyof FaultRates): boolean => !healed && rates[fault] > 0 && random.chance(rates[fault]);
  return {
    rates,
    draw,
    heal() {
      healed = true;
      world.note('faults end');
    },
    isHealed: () => healed,
    database: () => draw('database'),
    databaseDelayMs: () => (draw('databaseDelay') ? random.between(1, 2000) : 0),
  };
}
