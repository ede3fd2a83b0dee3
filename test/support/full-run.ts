import { test } from 'bun:test';

/** `npm run test:full`: every test on every database, and more rounds. */
export const IS_FULL_RUN = process.env.TASKGATE_FULL_TESTS === '1';

/**
 * A test that `npm test` skips: a page in another size, theme or language, or a rule that the short
 * run shows with another page, database or value.
 */
export const testInFullRun: typeof test = IS_FULL_RUN ? test : test.skip;
