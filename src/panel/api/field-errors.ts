import { isObject } from '../../kernel/json.ts';
import type { SaidSentence } from './say-sentence.ts';

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
    const own = entry.message === undefined ? said : readSaid(entry);
    fieldErrors.set(field, { ...own, message: text, rule: typeof entry.rule === 'string' ? entry.rule : undefined });
  }
  return fieldErrors;
}

/** `reason` and `params` of an answer or one of its entries. */
export function readSaid({ reason, params }: { reason?: unknown; params?: unknown }): Omit<SaidSentence, 'message'> {
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
