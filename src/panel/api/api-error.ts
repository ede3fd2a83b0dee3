import { isObject } from '../../kernel/json.ts';
import type { TextKey } from '../i18n/texts.ts';
import type { SaidSentence } from './translate-sentence.ts';

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

/** A failure in the browser, before any API call. The text says what happened and what to do. */
export class UserError extends Error {
  constructor(readonly text: TextKey) {
    super(text);
    this.name = 'UserError';
  }
}

/** What is wrong with one field: the API's English sentence, and what another language needs. */
export type FieldError = SaidSentence & {
  /** `required`, `unknown_field`, `wrong_value` or a rule of the route. */
  rule?: string | undefined;
};

/**
 * Reads errors of single fields from an error's `details`: `{field, rule}` from an operation,
 * `{errors: [{field, message, reason?, params?}]}` from body validation, or `{field}` alone, which
 * takes the error's sentence. Empty for any other shape.
 */
export function readFieldErrors(details: unknown, said: SaidSentence): Map<string, FieldError> {
  const fieldErrors = new Map<string, FieldError>();
  for (const { field, ...entry } of listEntries(details)) {
    const text = entry.message ?? entry.rule ?? said.message;
    if (typeof text !== 'string') continue;
    const own = entry.message === undefined ? said : readSentence(entry);
    fieldErrors.set(field, { ...own, message: text, rule: typeof entry.rule === 'string' ? entry.rule : undefined });
  }
  return fieldErrors;
}

/** `reason` and `params` of an answer or one of its entries. */
export function readSentence({
  reason,
  params,
}: {
  reason?: unknown;
  params?: unknown;
}): Omit<SaidSentence, 'message'> {
  if (typeof reason !== 'string') return {};
  return { reason, params: isObject(params) ? (params as SaidSentence['params']) : {} };
}

/** The fields whose error names this rule. */
export const fieldsViolating = (details: unknown, rule: string): ReadonlySet<string> =>
  new Set(listEntries(details).flatMap((entry) => (entry.rule === rule ? [entry.field] : [])));

type Entry = { field: string; message?: unknown; rule?: unknown; reason?: unknown; params?: unknown };

function listEntries(details: unknown): Entry[] {
  if (!isObject(details)) return [];
  const entries: unknown[] = Array.isArray(details.errors) ? details.errors : [details];
  return entries.filter((entry): entry is Entry => isObject(entry) && typeof entry.field === 'string');
}
