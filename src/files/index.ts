/**
 * Owns: kept bytes: the files of requests, their digests and references, copies that are still
 * wanted, and their removal. May touch: the store. Never touches: plugins, vendors, bills.
 */

export { fileErrors } from './errors.ts';
export {
  type HeldBody,
  hasInputsToKeep,
  holdBody,
  keepInputs,
  retryableRequest,
  type StoredInputs,
  storeBytes,
} from './keep-inputs.ts';
export { findRetryBlock, type RetryBlock, restoreHeldBody, restoreRequest } from './restore-inputs.ts';
export { scheduleResultCopies } from './schedule-result-copies.ts';
export { createSmallFiles, type SmallFiles } from './small-files.ts';
export { resultCleanUpSteps } from './sweep-files.ts';
export type { ExtractedFile, ExtractedFiles, KeptFiles, RequestBody, RequestFile, ResultSettings } from './types.ts';
