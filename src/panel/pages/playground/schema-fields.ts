/**
 * What a model's schema says of the fields of a request: which are invalid, missing or files, and
 * what fills an empty one.
 */
import type { CallableModel } from '../../api/types.ts';
import { toNumber } from '../../ui/form/decimal.ts';
import type { RequestBody } from './attached-files.ts';

/** The first field whose value breaks the model's schema; null: none does. */
export function findInvalidField({ schema }: Pick<CallableModel, 'schema'>, body: RequestBody): string | null {
  for (const [name, field] of Object.entries(schema.properties)) {
    const value = body[name];
    if (value !== undefined && !isFit(field, value)) return name;
  }
  return null;
}

type Field = CallableModel['schema']['properties'][string];

export const isFileInput = (field: Field): boolean => field['x-input'] !== undefined && field['x-input'] !== 'text';

const isEmpty = (value: unknown): boolean => value === undefined || value === '';

/** Fields that the schema requires and the request lacks. */
export const missingFields = ({ schema }: Pick<CallableModel, 'schema'>, body: RequestBody): string[] =>
  schema.required.filter((name) => name !== 'model' && isEmpty(body[name]));

const standInFile = 'https://example.com/file';

/** The request with something in each empty field: no price depends on what is filled in. */
export function fillEmptyFields({ schema }: Pick<CallableModel, 'schema'>, body: RequestBody): RequestBody {
  const filled: Record<string, unknown> = { ...body };
  if (isEmpty(body.prompt)) filled.prompt = '-';
  for (const [name, field] of Object.entries(schema.properties)) {
    if (field['x-input'] === undefined || !isEmpty(body[name])) continue;
    if (!isFileInput(field)) filled[name] = field['x-example'] ?? '-';
    else if (schema.required.includes(name)) filled[name] = standInFile;
  }
  return filled;
}

function isFit(field: Field, value: unknown): boolean {
  if (field.type === 'number') return isFitNumber(field, value);
  return field.pattern === undefined || (typeof value === 'string' && new RegExp(field.pattern).test(value));
}

export function isFitNumber({ minimum, maximum, multipleOf, enum: choices }: Field, value: unknown): boolean {
  const number = typeof value === 'string' ? toNumber(value) : value;
  if (typeof number !== 'number' || !Number.isFinite(number)) return false;
  if (choices !== undefined) return (choices as readonly unknown[]).includes(number);
  if (multipleOf !== undefined && !Number.isInteger(number / multipleOf)) return false;
  return number >= (minimum ?? number) && number <= (maximum ?? number);
}

/** The form's field that a refusal is about; null: it names none. */
export function findRefusedField(
  { schema }: CallableModel,
  { field, message }: { field: string | null; message: string },
): string | null {
  const names = Object.keys(schema.properties).filter((name) => name !== 'model');
  const named = field?.replace(/^body\./, '');
  if (named !== undefined && names.includes(named)) return named;
  // Plugins refuse in words; a field that they name stands there as clients write it.
  const words = message.split(/[^A-Za-z0-9_]+/);
  return words.find((word) => names.includes(word)) ?? null;
}
