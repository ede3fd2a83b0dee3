export * from './counters.ts';
export * from './records.ts';
export * from './store.ts';
