/**
 * Runs plugin code in child processes, and programs of the system on files that strangers made.
 *
 * Owns: the child processes, their limits, the memory image. May touch: processes and pipes. Never
 * touches: tasks, users, URLs, the database, the environment of the gateway.
 *
 * `pool/` is the parent's side, `child/` what runs in a child. The entry of a child is `child.ts`,
 * not this file, so that a child loads nothing of the parent's side. `confined/` has both sides of
 * a program of the system. `system/` is the filter of system calls that both are put under.
 */
export { createProgramRunner, type ProgramRun, type RunProgram } from './confined/run-program.ts';
export type { ProgramFault } from './confined/types.ts';
export { createSandbox } from './create-sandbox.ts';
export { MAX_RESULT_BYTES } from './read-result.ts';
export type * from './types.ts';
