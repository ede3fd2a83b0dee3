/**
 * Owns: kept bytes: the files of requests, their digests and references, copies that are still
 * wanted, and their removal. May touch: the store. Never touches: plugins, vendors, bills.
 *
 * - `keep-inputs.ts`, `restore-inputs.ts`: files of a request, and the request again with them.
 * - `schedule-result-copies.ts`: whether a result is kept; `sweep-files.ts`: how long files stay.
 * - `small-files.ts`: those that are served from memory.
 */

export { fileErrors } from './errors.ts';
export {
  fileBytes,
  hasInputsToKeep,
  keepInputs,
  type StoredBody,
  type StoredInputs,
  storeBody,
  storeBytes,
  toRetryRequest,
} from './keep-inputs.ts';
export { areInPlace, findRetryBlock, type RetryBlock, restoreRequest, restoreStoredBody } from './restore-inputs.ts';
export { scheduleResultCopies } from './schedule-result-copies.ts';
export { createSmallFiles, type SmallFiles } from './small-files.ts';
export { storedFileCleanUpSteps } from './sweep-files.ts';
export type {
  ExtractedFile,
  ExtractedFiles,
  RequestBody,
  RequestFile,
  ResultSettings,
  ResultStorage,
} from './types.ts';
