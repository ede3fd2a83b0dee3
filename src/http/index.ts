/**
 * Owns: routes, access of each route, HTTP statuses, codes and envelopes, cookies, headers, the
 * listener, the panel's files. May touch: the rooms' public functions. Never touches: the database,
 * plugins' code, outbound requests; it decides nothing about money, tasks or accounts.
 */
export { createHttpApp, type HttpApp, type HttpDeps, type Routes } from './app.ts';
export { NotReady } from './operator/health.ts';
export { createMetrics, type Metrics } from './operator/metrics.ts';
export type { AttentionItem } from './panel-api/operation/attention.ts';
export type { SystemView } from './panel-api/operation/system.ts';
export type { Listening, ListenOptions } from './pipeline/listen.ts';
