import { test } from 'bun:test';

/** `npm run test:full`: every test on every database, and more rounds. */
export const IS_FULL_RUN = process.env.TASKGATE_FULL_TESTS === '1';

/** Requests that race for one thing where a process serves them; contracts always race fifty. */
export const RACERS = IS_FULL_RUN ? 50 : 8;

/**
 * A test that `npm test` skips: a page in another size, theme or language, or a rule that the short
 * run shows with another page, database or value.
 */
export const testInFullRun: typeof test = IS_FULL_RUN ? test : test.skip;

/** How many random inputs a property is tried with: `npm test` takes the first fifth of them. */
export const rounds = (count: number): number => (IS_FULL_RUN ? count : Math.ceil(count / 5));
