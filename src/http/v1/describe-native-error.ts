import type { AppError } from '../../kernel/index.ts';
import type { NativeError } from '../../plugins/index.ts';
import { statusOf } from '../errors.ts';

const CODES: Record<number, string> = {
  401: 'authentication_error',
  403: 'permission_denied',
  404: 'task_not_found',
  409: 'request_conflict',
  429: 'rate_limit_exceeded',
};

/**
 * A failure as plugins present it in their vendor's words: a code by the status, as in new-api.
 * What went wrong inside the gateway or at the vendor stays here. `retryable`: a repeat may succeed
 * and buys nothing twice.
 */
export function describeNativeError(error: AppError, requestId: string): NativeError {
  const httpStatus = statusOf(error);
  const inside = httpStatus >= 500;
  return {
    code: inside ? 'server_error' : (CODES[httpStatus] ?? 'invalid_request'),
    message: inside ? 'Task request failed' : error.message,
    httpStatus,
    retryable: (inside || httpStatus === 429) && !error.doNotRetry,
    requestId,
  };
}
