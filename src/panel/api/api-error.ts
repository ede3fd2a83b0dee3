import type { FieldError } from './field-errors.ts';
import type { SaidSentence } from './say-sentence.ts';

type ApiErrorInput = {
  status: number;
  code: string;
  message: string;
  requestId?: string | null;
  retryAfter?: number | null;
  reason?: SaidSentence['reason'];
  params?: SaidSentence['params'];
  fieldErrors?: ReadonlyMap<string, FieldError>;
  details?: unknown;
};

/**
 * A failed API call. `status` is the HTTP status, or 0 when no answer arrived. `code` is the API's
 * error code, `UNREACHABLE` for no answer, or `UNREADABLE` for an answer that is not the API's.
 * `retryAfter` is in seconds. `reason` and `params` name the sentence that the gateway said, where
 * it is catalogued. `fieldErrors` maps request fields to what is wrong with them. `details` has the
 * shape documented for the code.
 */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly requestId: string | null;
  readonly retryAfter: number | null;
  readonly reason: SaidSentence['reason'];
  readonly params: SaidSentence['params'];
  readonly fieldErrors: ReadonlyMap<string, FieldError>;
  readonly details: unknown;

  constructor({
    status,
    code,
    message,
    requestId = null,
    retryAfter = null,
    reason,
    params,
    fieldErrors = new Map(),
    details,
  }: ApiErrorInput) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
    this.reason = reason;
    this.params = params;
    this.fieldErrors = fieldErrors;
    this.details = details;
  }

  /** 404: the resource never existed, was deleted, or belongs to another user. */
  get isNotFound(): boolean {
    return this.status === 404;
  }

  /**
   * A retry may succeed, and the credentials are not at fault. Marketplace failures are excluded:
   * the gateway has already retried the source.
   */
  get isTransient(): boolean {
    if (this.code === 'PLUGIN_MARKET_FAILED') return false;
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}
