/** The only file that knows HTTP statuses, published error codes and the two error envelopes. */
import { AppError, defineErrors, type ErrorKind, isObject, type Logger } from '../../kernel/index.ts';
import { REPLAYED } from './response-headers.ts';

export const httpErrors = defineErrors('http', {
  validation_failed: ['invalid', 'The request is not valid.'],
  bad_address: ['invalid', "The request's address cannot be read: its Host header is missing or invalid."],
  bad_json: ['invalid', 'The body is not valid JSON.'],
  bad_body: ['invalid', 'The body could not be read.'],
  body_too_slow: ['invalid', 'The body arrived too slowly. Nothing was submitted.'],
  not_found: ['not_found', 'There is nothing at this address.'],
  method_not_allowed: ['method_not_allowed', 'This address does not support this method.'],
  too_large: ['too_large', 'The body is too large.'],
  address_too_long: ['address_too_long', 'The address is too long. The limit is 16 KiB.'],
  unsupported_media: ['unsupported_media', 'The body has a content type that this address does not accept.'],
  upload_storage: [
    'unavailable',
    'The gateway cannot store the files of this request right now. Nothing was submitted; try again later.',
  ],
  uploads_limited: ['rate_limited', 'The files of your requests in progress are too large in total.'],
  exports_limited: [
    'rate_limited',
    'You already have an export running, or too many others are running. Try again when it has ended.',
  ],
  request_repeated: [
    'conflict',
    'This request was already made. Check whether it took effect. Send it with another Idempotency-Key only if it did not.',
  ],
  session_required: ['forbidden', 'This requires a browser session; a personal access token is not enough.'],
  insufficient_privilege: ['forbidden', 'Your role does not allow this.'],
  origin_forbidden: ['forbidden', 'The request does not come from a trusted origin.'],
  host_forbidden: ['forbidden', 'The panel does not answer to this host name.'],
  metrics_forbidden: ['unauthenticated', 'Metrics need the metrics token.'],
  maintenance: ['unavailable', 'The gateway is closed for maintenance. Try again later.'],
  internal: ['internal', 'Something went wrong on our side. Quote the request id when you report it.'],
});

const STATUS: Record<ErrorKind, number> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  out_of_quota: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  gone: 410,
  too_large: 413,
  address_too_long: 414,
  unsupported_media: 415,
  unprocessable: 422,
  rate_limited: 429,
  internal: 500,
  upstream_failed: 502,
  unavailable: 503,
  upstream_timeout: 504,
};

/** Statuses in which OpenAI's API differs. */
const OPENAI_STATUS: Partial<Record<ErrorKind, number>> = { out_of_quota: 429 };

type OpenAiErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'rate_limit_error'
  | 'insufficient_quota'
  | 'server_error';

const OPENAI_TYPE: Partial<Record<ErrorKind, OpenAiErrorType>> = {
  unauthenticated: 'authentication_error',
  forbidden: 'permission_error',
  out_of_quota: 'insufficient_quota',
  rate_limited: 'rate_limit_error',
  internal: 'server_error',
  upstream_failed: 'server_error',
  unavailable: 'server_error',
  upstream_timeout: 'server_error',
};

/** Rooms whose published prefix is not their name. */
const PREFIX: Record<string, string> = {
  http: '',
  operations: '',
  plugins: 'PLUGIN_',
  channels: 'CHANNEL_',
  tasks: '',
  sessions: 'AUTH_SESSION_',
};

/** Codes that are not built from prefix and reason. */
const EXCEPTIONS: Record<string, string> = {
  'http.session_required': 'AUTH_SESSION_REQUIRED',
  'http.insufficient_privilege': 'AUTH_INSUFFICIENT_PRIVILEGE',
  'http.origin_forbidden': 'AUTH_ORIGIN_FORBIDDEN',
  'http.metrics_forbidden': 'AUTH_UNAUTHORIZED',
  'http.internal': 'INTERNAL_ERROR',
  'auth.validation_failed': 'VALIDATION_FAILED',
  'auth.rate_limited': 'RATE_LIMITED',
  'auth.name_taken': 'NAME_TAKEN',
};

/** `plugins.version_exists` → `PLUGIN_VERSION_EXISTS`. */
export function panelCode(code: string): string {
  const exception = EXCEPTIONS[code];
  if (exception !== undefined) return exception;
  const [room = '', ...reason] = code.split('.');
  return `${PREFIX[room] ?? `${room}_`}${reason.join('_')}`.toUpperCase();
}

/** The code on `/v1` and native routes: only the reason. */
export const openAiCode = (code: string): string => code.slice(code.indexOf('.') + 1);

/** `panel`: the envelope of `/api`. `openai`: the envelope of `/v1` and native routes. */
export type ErrorEnvelope = 'panel' | 'openai';

/** Turns anything thrown into an `AppError`; unexpected errors become `http.internal`. */
export function toAppError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  return httpErrors.internal({ cause: thrown });
}

export const toStatus = ({ kind }: AppError, envelope: ErrorEnvelope = 'panel'): number =>
  (envelope === 'openai' ? OPENAI_STATUS[kind] : undefined) ?? STATUS[kind];

/** Clients repeat every 429 automatically, but a repeat does not bring money. */
const chooseRetryAdvice = ({ kind, shouldRetry }: AppError): boolean | undefined =>
  kind === 'out_of_quota' ? false : shouldRetry;

/** The response to a failure. It never contains the cause, which `logFailure` writes to the log. */
export function errorResponse(error: AppError, envelope: ErrorEnvelope, requestId: string): Response {
  const headers = new Headers();
  if (error.retryAfterSeconds !== undefined) {
    headers.set('retry-after', String(Math.max(1, Math.ceil(error.retryAfterSeconds))));
  }
  if (error.replayed) headers.set(REPLAYED, 'true');
  // Otherwise the listener would keep reading the rest of the slow body.
  if (error.code === 'http.body_too_slow') headers.set('connection', 'close');
  const advice = chooseRetryAdvice(error);
  if (advice !== undefined) headers.set('x-should-retry', String(advice));
  const body =
    envelope === 'panel'
      ? {
          success: false,
          code: panelCode(error.code),
          message: error.message,
          ...(error.reason === error.code ? {} : { reason: error.reason, params: error.params }),
          ...describeDetails(error),
          request_id: requestId,
        }
      : {
          error: {
            message: error.message,
            type: OPENAI_TYPE[error.kind] ?? 'invalid_request_error',
            code: openAiCode(error.code),
            param: error.param ?? null,
          },
        };
  return Response.json(body, { status: toStatus(error, envelope), headers });
}

/** The panel shows a fault at its form field, so `param` is added to the details as `field`. */
function describeDetails({ details, param }: AppError): { details?: unknown } {
  if (param === undefined || (details !== undefined && !isObject(details))) {
    return details === undefined ? {} : { details: publishDetails(details) };
  }
  return { details: publishDetails({ field: param, ...details }) };
}

/** Converts a room's camelCase names to the snake_case of responses. */
const publishDetails = (details: unknown): unknown =>
  isObject(details)
    ? Object.fromEntries(
        Object.entries(details).map(([name, value]) => [
          name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
          value,
        ]),
      )
    : details;

/**
 * Logs a failure with its cause: an unexpected one as an error, another 5xx (a vendor, the
 * database) as a warning, a client's fault for debugging only. What has a line already gets none.
 */
export function logFailure(log: Logger, error: AppError): void {
  if (error.isLogged) return;
  if (error.kind === 'internal')
    log.error({ code: error.code, err: error.cause ?? error }, 'request failed unexpectedly');
  // Vendors fail every day: without a cause there is nothing that a stack would explain.
  else if (toStatus(error) >= 500)
    log.warn({ code: error.code, ...(error.cause === undefined ? {} : { err: error.cause }) }, error.message);
  else log.debug({ code: error.code, cause: error.cause }, error.message);
}
