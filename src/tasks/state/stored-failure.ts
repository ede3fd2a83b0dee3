import { AppError } from '../../kernel/index.ts';
import type { StoredFailure } from '../../store/ports/index.ts';
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

/** A repeat with the same key always gets this error: it is not worth another. */
export const fromStoredFailure = ({ code, kind, message, param, retryAfterSeconds }: StoredFailure): AppError =>
  new AppError(code, kind, {
    message,
    ...(param === undefined ? {} : { param }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    shouldRetry: false,
    replayed: true,
  });
