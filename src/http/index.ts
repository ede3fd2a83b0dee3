/**
 * Owns: routes and who may call them, HTTP statuses, error codes and envelopes, cookies, headers,
 * the listener, the panel's files. May use: the public functions of the rooms below. Never touches:
 * the database, plugin code, outbound requests. It decides nothing about money, tasks or accounts.
 *
 * Start reading at `pipeline/handle-request.ts`: route → access → body → answer.
 *
 * - `pipeline/`: what every request passes: listener, host and origin guards, route, access.
 * - `bodies/`, `responses/`: how requests are read, and how answers and errors are written. Sizes
 *   of bodies, names and numbers: `bodies/body-limits.ts`.
 * - `v1/`: routes for API clients. "Prefer: respond-async": `v1/relay-routes.ts`.
 * - `panel-api/`: routes for the panel; `panel-files/`: its pages. `gateway/` has what
 *   administrators set up to serve clients: channels, plugins, prices; `operation/` what runs the
 *   gateway and what it has recorded: set-up, options, state, usage, logs; `export/` its lists as
 *   CSV and JSON.
 * - `operator/`: health, metrics, maintenance.
 * - `openapi/`: the document that describes all routes.
 */
export type { AuditAction } from '../auth/index.ts';
export { createHttpApp, type HttpApp, type Routes } from './app.ts';
export { NotReady } from './operator/health.ts';
export { createMetrics, type Metrics } from './operator/metrics.ts';
export type { DevelopedCall, DevelopmentView, ViewDevelopment } from './operator/plugin-development.ts';
export type { Listening, ListenOptions } from './pipeline/listen.ts';
export type { InRequest, RequestTracer } from './pipeline/types.ts';
