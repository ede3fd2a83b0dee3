/**
 * Owns: kept bytes: the files of requests, their digests and references, copies that are still
 * wanted, and their removal. May touch: the store. Never touches: plugins, vendors, bills.
 */

export { fileErrors } from './errors.ts';
export {
  type HeldBody,
  hasInputsToKeep,
  holdBody,
  KEEP_TRIES_MS,
  keepInputs,
  retryableRequest,
  type StoredInputs,
  scheduleResultCopies,
  storeBytes,
} from './keep-inputs.ts';
export { findRetryBlock, type RetryBlock, restoreHeldBody, restoreRequest } from './restore-inputs.ts';
export { createSmallFiles, type SmallFiles } from './small-files.ts';
export { resultCleanUpSteps } from './sweep-files.ts';
export type { ExtractedFile, ExtractedFiles, KeptFiles, RequestBody, RequestFile, ResultSettings } from './types.ts';
