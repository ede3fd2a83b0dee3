export type ApiErrorInput = {
  status: number;
  code: string;
  message: string;
  requestId?: string | null;
  retryAfter?: number | null;
  fieldErrors?: ReadonlyMap<string, string>;
  details?: unknown;
};

/**
 * Why a call did not give data. `status` is the HTTP status, 0 when no answer came; `code` is the
 * API's own code, or `UNREACHABLE` and `UNREADABLE` for what never reached it; `retryAfter` are
 * seconds; `faults` are what the server says of single fields, by their names in the request;
 * `details` is what else it says, shaped as the code's description has it.
 */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly requestId: string | null;
  readonly retryAfter: number | null;
  readonly fieldErrors: ReadonlyMap<string, string>;
  readonly details: unknown;

  constructor({
    status,
    code,
    message,
    requestId = null,
    retryAfter = null,
    fieldErrors = new Map(),
    details,
  }: ApiErrorInput) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
    this.fieldErrors = fieldErrors;
    this.details = details;
  }

  /**
   * Nothing is at the address that was asked: it never was, has been deleted, or is somebody
   * else's.
   */
  get isNotFound(): boolean {
    return this.status === 404;
  }

  /**
   * Trouble that may be gone on the next try and says nothing about the credentials. The gateway
   * has tried a source of plugins already.
   */
  get isTransient(): boolean {
    if (this.code === 'PLUGIN_MARKET_FAILED') return false;
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}
