/**
 * What a refusal's `details` say of single fields: `{field, rule}` of one that an operation refused, `{errors: [{field, message}]}` of
 * those whose form was wrong, `{field}` where the refusal's own `message` is all there is. Empty for anything else.
 */
export function readFaults(details: unknown, message: string): Map<string, string> {
  const faults = new Map<string, string>();
  if (!isObject(details)) return faults;
  const entries: unknown[] = Array.isArray(details.errors) ? details.errors : [details];
  for (const entry of entries) {
    if (!isObject(entry) || typeof entry.field !== 'string') continue;
    const text = entry.message ?? entry.rule ?? message;
    if (typeof text === 'string') faults.set(entry.field, text);
  }
  return faults;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;
