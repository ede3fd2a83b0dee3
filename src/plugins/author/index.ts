/**
 * What `taskgate plugin` does for authors. Apart from the room's `index.ts`, so that a gateway does
 * not load it.
 */
export { type BenchReport, benchPlugin } from './bench-plugin.ts';
export { addCases, addExpected, readFixture, removeCases } from './fixture-file.ts';
export { type LintReport, lintPlugin } from './lint-plugin.ts';
export { newPlugin } from './new-plugin.ts';
export { openPlugin } from './open-plugin.ts';
export { cleanExchange, isRecorded, recordCall } from './record-call.ts';
export { type FixtureReport, runFixture } from './run-fixture.ts';
