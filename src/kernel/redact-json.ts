import { isObject, type Json } from './json.ts';
import { createWholeRedactor, type Redactor, type Secrets } from './redact.ts';

/** A copy of `value` as JSON in which no text, member names included, contains one of `secrets`. */
export const redactJson = (value: unknown, secrets: Secrets): Json | undefined =>
  redactWith(createWholeRedactor(secrets), value);

function redactWith(redact: Redactor, value: unknown): Json | undefined {
  if (typeof value === 'string') return redact(value);
  if (Array.isArray(value)) return value.map((item) => redactWith(redact, item) ?? null);
  if (isObject(value)) {
    const members = Object.entries(value).flatMap(([name, member]) => {
      const clean = redactWith(redact, member);
      return clean === undefined ? [] : [[redact(name), clean] as const];
    });
    return Object.fromEntries(members);
  }
  return typeof value === 'number' || typeof value === 'boolean' || value === null ? value : undefined;
}
