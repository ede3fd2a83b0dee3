/** Histories of the real engine with faults of all kinds, held to what the specification says. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { IS_FULL_RUN } from '../support/full-run.ts';
import { findMismatches } from './mutants.ts';
import { openSimulation, type Simulation } from './run-seeds.ts';

const SEEDS = IS_FULL_RUN ? 500 : 50;
/**
 * Seeds that have broken a rule. A history changes with what it is drawn from, so what each of them
 * found has a test of its own as well.
 */
const FOUND = [125, 255, 491, 671];
const first = Array.from({ length: SEEDS }, (_, index) => index + 1);

let simulation: Simulation;
beforeAll(async () => {
  simulation = await openSimulation();
});
afterAll(() => simulation.close());

test.each([...new Set([...first, ...FOUND])])('no rule is broken in the history of seed %i', async (seed) => {
  expect((await simulation.run(seed)).violations).toEqual([]);
});

test('every planted fault of --mutants fits the source', () => {
  expect(findMismatches(join(import.meta.dir, '../..'))).toEqual([]);
});

test('a seed is one history', async () => {
  const [first, again] = [await simulation.run(1), await simulation.run(1)];
  expect(again.history.notes).toEqual(first.history.notes);
});
