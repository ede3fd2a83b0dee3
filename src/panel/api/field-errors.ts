/**
 * What a refusal's `details` say of single fields: `{field, rule}` of one that an operation
 * refused, `{errors: [{field, message}]}` of those whose form was wrong, `{field}` where the
 * refusal's own `message` is all there is. Empty for anything else.
 */
export function readFieldErrors(details: unknown, message: string): Map<string, string> {
  const fieldErrors = new Map<string, string>();
  for (const { field, ...entry } of listEntries(details)) {
    const text = entry.message ?? entry.rule ?? message;
    if (typeof text === 'string') fieldErrors.set(field, text);
  }
  return fieldErrors;
}

/** The fields that a refusal's `details` say to break this rule. */
export const fieldsViolating = (details: unknown, rule: string): ReadonlySet<string> =>
  new Set(listEntries(details).flatMap((entry) => (entry.rule === rule ? [entry.field] : [])));

type Entry = { field: string; message?: unknown; rule?: unknown };

function listEntries(details: unknown): Entry[] {
  if (!isObject(details)) return [];
  const entries: unknown[] = Array.isArray(details.errors) ? details.errors : [details];
  return entries.filter((entry): entry is Entry => isObject(entry) && typeof entry.field === 'string');
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
