/** Histories of the real engine with faults of all kinds, held to what the specification says. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import { join } from 'node:path';
import { IS_FULL_RUN } from '../support/full-run.ts';
import { findMismatches } from './mutants.ts';
import { openSimulation, type Simulation } from './run-seeds.ts';

// Fifty histories are many seconds of processor, which other tests want as well.
setDefaultTimeout(600_000);

const SEEDS = IS_FULL_RUN ? 500 : 50;
/**
 * Seeds that have broken a rule, beyond those that always run. A history changes with what it is
 * drawn from, so what each of them found has a test of its own as well.
 */
const FOUND = [125, 255, 491, 671];

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

test.each(FOUND)('seed %i, which once broke a rule, breaks none', async (seed) => {
  expect((await simulation.run(seed)).violations).toEqual([]);
});

test('every planted fault of --mutants fits the source', () => {
  expect(findMismatches(join(import.meta.dir, '../..'))).toEqual([]);
});

test('a seed is one history', async () => {
  const [first, again] = [await simulation.run(1), await simulation.run(1)];
  expect(again.history.notes).toEqual(first.history.notes);
});
