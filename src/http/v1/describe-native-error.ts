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
 * A failure in the form that plugins translate into their vendor's format: one code per status, as
 * in new-api. Details of failures inside the gateway or at the vendor are left out. `retryable`: a
 * retry may succeed and buys nothing twice.
 */
export function describeNativeError(error: AppError, requestId: string): NativeError {
  const httpStatus = statusOf(error);
  const isServerFault = httpStatus >= 500;
  return {
    code: isServerFault ? 'server_error' : (CODES[httpStatus] ?? 'invalid_request'),
    message: isServerFault ? 'Task request failed' : error.message,
    httpStatus,
    retryable: (isServerFault || httpStatus === 429) && error.shouldRetry !== false,
    requestId,
  };
}
