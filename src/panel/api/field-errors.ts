/**
 * Reads errors of single fields from an error's `details`: `{field, rule}` from an operation,
 * `{errors: [{field, message}]}` from body validation, or `{field}` alone, which takes the error's
 * `message`. Empty for any other shape.
 */
export function readFieldErrors(details: unknown, message: string): Map<string, string> {
  const fieldErrors = new Map<string, string>();
  for (const { field, ...entry } of listEntries(details)) {
    const text = entry.message ?? entry.rule ?? message;
    if (typeof text === 'string') fieldErrors.set(field, text);
  }
  return fieldErrors;
}

/** The fields whose error names this rule. */
export const fieldsViolating = (details: unknown, rule: string): ReadonlySet<string> =>
  new Set(listEntries(details).flatMap((entry) => (entry.rule === rule ? [entry.field] : [])));

type Entry = { field: string; message?: unknown; rule?: unknown };

function listEntries(details: unknown): Entry[] {
  if (!isObject(details)) return [];
  const entries: unknown[] = Array.isArray(details.errors) ? details.errors : [details];
  return entries.filter((entry): entry is Entry => isObject(entry) && typeof entry.field === 'string');
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
