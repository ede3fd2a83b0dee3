import { AppError } from '../../kernel/index.ts';
import type { StoredFailure } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';

/**
 * The error that the client got for a submission that failed after its task row was inserted.
 * Repeats of the request get the same error.
 */
export function toStoredFailure(error: unknown): StoredFailure {
  const { code, kind, message, param, retryAfterSeconds, doNotRetry } =
    error instanceof AppError ? error : taskErrors.submission_interrupted({ doNotRetry: true });
  return {
    code,
    kind,
    message,
    ...(param === undefined ? {} : { param }),
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(doNotRetry ? { doNotRetry } : {}),
  };
}

export const fromStoredFailure = ({ code, kind, message, ...rest }: StoredFailure): AppError =>
  new AppError(code, kind, { message, ...rest, replayed: true });
