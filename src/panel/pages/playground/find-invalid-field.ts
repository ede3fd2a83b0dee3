import type { CallableModel } from '../../api/types.ts';
import type { RequestBody } from './attached-files.ts';

/** The first field whose value breaks the model's schema; null: none does. */
export function findInvalidField({ schema }: CallableModel, body: RequestBody): string | null {
  for (const [name, field] of Object.entries(schema.properties)) {
    const value = body[name];
    if (value !== undefined && !isFit(field, value)) return name;
  }
  return null;
}

function isFit(field: CallableModel['schema']['properties'][string], value: unknown): boolean {
  if (field.type === 'number') {
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    if (typeof number !== 'number' || !Number.isFinite(number)) return false;
    return number >= (field.minimum ?? number) && number <= (field.maximum ?? number);
  }
  return field.pattern === undefined || (typeof value === 'string' && new RegExp(field.pattern).test(value));
}
