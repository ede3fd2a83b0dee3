import { isObject, type Json } from './json.ts';
import { createWholeRedactor, type Redactor, type Secrets } from './redact.ts';

/** A copy of `value` as JSON in which no text, member names included, contains one of `secrets`. */
export const redactJson = (value: unknown, secrets: Secrets): Json | undefined =>
  redactJsonWith(createWholeRedactor(secrets), value);

/** The same for several values: the search for the secrets is prepared once. */
export function redactJsonWith(redact: Redactor, value: unknown): Json | undefined {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map((item) => redactJsonWith(redact, item) ?? null);
  if (isObject(value)) {
    const members = Object.entries(value).flatMap(([name, member]) => {
      const clean = redactJsonWith(redact, member);
      return clean === undefined ? [] : [[redact(name), clean] as const];
    });
    return Object.fromEntries(members);
  }
  return typeof value === 'number' || typeof value === 'boolean' || value === null ? value : undefined;
}
