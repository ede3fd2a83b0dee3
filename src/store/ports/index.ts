export * from './records.ts';
export * from './store.ts';
