/**
 * Owns: child processes that run plugin code, their limits, the memory image. May touch: processes
 * and pipes. Never touches: tasks, users, URLs, the database, the environment of the gateway.
 *
 * A child's own entry is `child.ts`, apart from this file so that a child loads nothing of the
 * parent's side.
 */
export { createSandbox } from './create-sandbox.ts';
export { MAX_RESULT_BYTES } from './read-result.ts';
export type * from './types.ts';
