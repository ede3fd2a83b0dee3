import { AppError } from '../../kernel/index.ts';
import type { StoredFailure, TaskRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';

/**
 * The error that the client got for a submission that failed after its task row was inserted.
 * Repeats of the request get the same error.
 */
export function toStoredFailure(error: unknown): StoredFailure {
  const { code, kind, message, param, retryAfterSeconds } =
    error instanceof AppError ? error : taskErrors.submission_interrupted();
  return {
    code,
    kind,
    message,
    ...(param === undefined ? {} : { param }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  };
}

/** A repeat with the same key (`replayed`) always gets this error: it is not worth another. */
export function fromStoredFailure(
  { code, kind, message, param, retryAfterSeconds }: StoredFailure,
  { failReason, failReasonSentence: said }: Pick<TaskRecord, 'failReason' | 'failReasonSentence'>,
  { replayed }: { replayed: boolean } = { replayed: true },
): AppError {
  // The task failed with these very words, unless it was cancelled or interrupted.
  const isReason = said !== null && said.reason !== code && message === failReason;
  const error = new AppError(code, kind, {
    message: isReason ? { message, ...said } : message,
    ...(param === undefined ? {} : { param }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(replayed ? { shouldRetry: false } : {}),
    replayed,
  });
  // The line of what a vendor refused names its channel.
  error.isLogged = code.startsWith('tasks.vendor_');
  return error;
}
