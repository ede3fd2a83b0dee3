/** Histories of the real engine with faults of all kinds, held to what the specification says. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { IS_FULL_RUN } from '../support/full-run.ts';
import { openSimulation, type Simulation } from './run-seeds.ts';

setDefaultTimeout(120_000);

const SEEDS = IS_FULL_RUN ? 500 : 50;

let simulation: Simulation;
beforeAll(async () => {
  simulation = await openSimulation();
});
afterAll(() => simulation.close());

test(`no rule is broken in the histories of ${SEEDS} seeds`, async () => {
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const { violations } = await simulation.run(seed);
    expect({ seed, violations }).toEqual({ seed, violations: [] });
  }
});

test('a seed is one history', async () => {
  const [first, again] = [await simulation.run(7), await simulation.run(7)];
  expect(again.history.notes).toEqual(first.history.notes);
});
