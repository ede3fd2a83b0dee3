import { AppError } from '../../kernel/index.ts';
import { taskErrors } from '../errors.ts';

/** Set it before a request is sent; clear it once the vendor certainly has no job. */
export type SubmissionState = { vendorMayHaveJob: boolean };

/**
 * Runs a submission. While a vendor may have its job, each failure advises against a repeat: also
 * one of the store, of a later attempt, or of the answer's presentation.
 */
export async function forbidUnsafeRetry<T>(work: (state: SubmissionState) => Promise<T>): Promise<T> {
  const state: SubmissionState = { vendorMayHaveJob: false };
  try {
    return await work(state);
  } catch (error) {
    if (!state.vendorMayHaveJob) throw error;
    throw error instanceof AppError
      ? error.withoutRetry()
      : taskErrors.submission_broken({ cause: error, shouldRetry: false });
  }
}
