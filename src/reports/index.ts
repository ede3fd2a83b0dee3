/**
 * Owns: figures: usage over time, health and history of channels; the list of models; what is kept
 * of one user. May touch: the store. Never touches: tasks' state, bills, HTTP requests.
 */

export { addUpBatch, SETTLING_SECONDS } from './add-up-usage.ts';
export { exportUser } from './export-user.ts';
export { listOfferedModels } from './list-offered-models.ts';
export type { ChannelHistory } from './read-channel-history.ts';
export type { Figures, ModelFigures } from './read-figures.ts';
export type { ChannelHealth } from './read-health.ts';
export type { UsageReport } from './read-usage.ts';
export { type Reconciliation, readVendorCsv, reconcileVendor } from './reconcile-vendor.ts';
export { createReports, type Reports } from './reports.ts';
