export * from './account-records.ts';
export * from './account-stores.ts';
export * from './counters.ts';
export * from './records.ts';
export * from './session-cache.ts';
export * from './store.ts';
export * from './success-lists.ts';
