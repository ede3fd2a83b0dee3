/**
 * Owns: everything that leaves this machine: outbound HTTP with address filter, redirect policy, size caps and timeouts.
 * May touch: sockets and name resolution. Never touches: the database, plugins, users.
 */
export type * from './types.ts';
