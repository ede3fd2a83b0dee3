/**
 * Runs plugin code in child processes.
 *
 * Owns: the child processes, their limits, the memory image. May touch: processes and pipes. Never
 * touches: tasks, users, URLs, the database, the environment of the gateway.
 *
 * `pool/` is the parent's side, `child/` what runs in a child. The entry of a child is
 * `child/run-child.ts`, not this file, so that a child loads nothing of the parent's side.
 * `child/filter-system-calls.ts` filters its system calls.
 */
export { createSandbox } from './pool/create-sandbox.ts';
export { MAX_RESULT_BYTES } from './read-result.ts';
export type * from './types.ts';
