/**
 * Owns: kept bytes: the files of requests, their digests and references, copies that are still
 * wanted, and their removal. May touch: the store. Never touches: plugins, vendors, bills.
 */

export { fileErrors } from './errors.ts';
export { hasInputsToKeep, keepInputs, type StoredInputs } from './keep-inputs.ts';
export { findRetryBlock, type RetryBlock, restoreRequest } from './restore-inputs.ts';
export { retryableRequest } from './retryable-request.ts';
export { createSmallFiles, type SmallFiles } from './small-files.ts';
export { resultCleanUpSteps } from './sweep-results.ts';
export type { ExtractedFile, ExtractedFiles, KeptFiles, RequestBody, RequestFile, ResultSettings } from './types.ts';
export { KEEP_TRIES_MS, wantResults } from './want-results.ts';
