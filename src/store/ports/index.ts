/**
 * The database as other rooms see it: the interfaces of its repositories, one file a concept, and
 * the records that they take and return. `store.ts` brings them together. Imports `kernel` alone.
 */
export * from './api-keys.ts';
export * from './backups.ts';
export * from './batches.ts';
export * from './capacity.ts';
export * from './channels.ts';
export * from './counters.ts';
export * from './files.ts';
export * from './imports.ts';
export * from './ledger.ts';
export * from './logs.ts';
export * from './nodes.ts';
export * from './options.ts';
export * from './outbox.ts';
export * from './paging.ts';
export * from './plugins.ts';
export * from './queue-view.ts';
export * from './relays.ts';
export * from './results.ts';
export * from './retention.ts';
export * from './sessions.ts';
export * from './sign-in.ts';
export * from './store.ts';
export * from './task-list.ts';
export * from './task-records.ts';
export * from './tasks.ts';
export * from './usage.ts';
export * from './users.ts';
export * from './waiting-queue.ts';
