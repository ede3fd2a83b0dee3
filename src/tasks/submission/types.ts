import type { AppError } from '../../kernel/index.ts';
import type { ParsedSubmission } from '../../plugins/index.ts';
import type { VendorOutcome } from '../../vendors/index.ts';

/**
 * `mayTryAnother`: the vendor certainly has no job from this attempt, or the channel accepts that
 * risk.
 */
export type FailedAttempt = { kind: 'failed'; error: AppError; mayTryAnother: boolean; outcome: VendorOutcome };

/** `isCut`: media were cut out of the answer that the plugin saw. */
export type SendOutcome = { kind: 'accepted'; result: ParsedSubmission; isCut: boolean } | FailedAttempt;
