/**
 * Owns: figures: usage over time, health and history of channels; case files; bills computed again;
 * the comparison with a vendor's list; the list of models; what is kept of one user. May touch: the
 * store. Never touches: tasks' state, money, HTTP requests.
 */

export type { CaseAudience, CaseFile, CaseKind } from './cases/case-file.ts';
export { caseErrors } from './cases/read-case-file.ts';
export { exportUser } from './export-user.ts';
export { listOfferedModels } from './list-offered-models.ts';
export type { ChannelHealth, ChannelHistory } from './read-channel-health.ts';
export type { Figures, ModelFigures } from './read-figures.ts';
export { type Reconciliation, readVendorCsv, reconcileVendor } from './reconcile-vendor.ts';
export { replayErrors } from './replay-bills.ts';
export { addUpBatch, SETTLING_SECONDS, type UsageReport } from './report-usage.ts';
export { createReports, type Reports } from './reports.ts';
