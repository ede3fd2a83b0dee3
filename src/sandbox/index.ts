/**
 * Owns: child processes that run plugin code, their limits, the memory image. May touch: processes and pipes.
 * Never touches: tasks, users, URLs, the database, the environment of the gateway.
 */
export type * from './types.ts';
