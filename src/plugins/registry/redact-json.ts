import { isObject, type Json, redactSecrets } from '../../kernel/index.ts';

/** A copy of `value` as JSON in which no text, names of members included, holds one of `secrets`. */
export function redactJson(value: unknown, secrets: readonly (string | undefined)[]): Json | undefined {
  if (typeof value === 'string') return redactSecrets(value, secrets);
  if (Array.isArray(value)) return value.map((item) => redactJson(item, secrets) ?? null);
  if (isObject(value)) {
    const members = Object.entries(value).flatMap(([name, member]) => {
      const clean = redactJson(member, secrets);
      return clean === undefined ? [] : [[redactSecrets(name, secrets), clean] as const];
    });
    return Object.fromEntries(members);
  }
  return typeof value === 'number' || typeof value === 'boolean' || value === null ? value : undefined;
}
