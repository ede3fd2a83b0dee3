import type { ValidationError } from 'elysia';
import type { AppError, SentenceParams } from '../../kernel/index.ts';
import { httpErrors } from '../responses/errors.ts';

type Schema = {
  type?: string;
  anyOf?: Schema[];
  const?: unknown;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  multipleOf?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
  format?: string;
  properties?: Record<string, Schema>;
  description?: string;
};

type Fault = {
  field: string;
  rule: 'unknown_field' | 'required' | 'wrong_value';
  message: string;
  reason?: string;
  params?: SentenceParams;
};

/** Faults in one response: a body full of wrong fields must not get a response of the same size. */
const MAX_FAULTS = 20;
const MAX_NAME = 100;

/**
 * The framework's validation error as `http.validation_failed`. Each fault names the field, the
 * rule and what to do.
 */
export function describeValidation(error: ValidationError): AppError {
  const faults = new Map<string, Fault>();
  for (const entry of error.all) {
    if (faults.size >= MAX_FAULTS) break;
    if (!('path' in entry) || typeof entry.path !== 'string') continue;
    const field = nameField(entry.path);
    if (faults.has(field)) continue;
    const { message, schema } = entry;
    faults.set(field, describeFault(error, { field, message: String(message), schema: schema as Schema }));
  }
  const errors = [...faults.values()];
  const [first] = errors;
  return httpErrors.validation_failed({
    message: first?.message ?? 'The request is not valid.',
    param: first?.field,
    details: { errors },
  });
}

type SchemaFault = { field: string; message: string; schema: Schema };

function describeFault(error: ValidationError, { field, message, schema }: SchemaFault): Fault {
  const kind = error.type === 'query' ? 'query parameter' : 'field';
  if (message === 'Unexpected property') {
    const known = Object.keys(schema.properties ?? {});
    const hint = known.length === 0 ? 'None is accepted here.' : `Accepted here: ${known.join(', ')}.`;
    return { field, rule: 'unknown_field', message: `Unknown ${kind} "${field}": remove it. ${hint}` };
  }
  const wanted = describeSchema(schema);
  if (field === '') return { field, rule: 'wrong_value', message: `The body must be ${wanted}.` };
  if (message === 'Expected required property') {
    return { field, rule: 'required', message: `The ${kind} "${field}" is missing: give ${wanted}.` };
  }
  return {
    field,
    rule: 'wrong_value',
    message: `The ${kind} "${field}" must be ${wanted}.`,
    ...describeBounds(schema),
  };
}

/** The bounds of a text, a number or a list, for the panel to say in another language. */
function describeBounds(schema: Schema): { reason: string; params: SentenceParams } | undefined {
  const { type, minLength = 0, maxLength, minimum, maximum, minItems = 0, maxItems } = schema;
  if (type === 'string' && maxLength !== undefined && schema.pattern === undefined) {
    return { reason: 'http.characters', params: { min: minLength, max: maxLength } };
  }
  if ((type === 'number' || type === 'integer') && minimum !== undefined && maximum !== undefined) {
    return { reason: 'http.number', params: { min: minimum, max: maximum } };
  }
  if (type === 'array' && maxItems !== undefined) {
    return { reason: 'http.entries', params: { min: minItems, max: maxItems } };
  }
  return undefined;
}

/** `/models/0` → `models.0` */
const nameField = (pointer: string): string =>
  pointer.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~').slice(0, MAX_NAME);

function describeSchema(schema: Schema): string {
  if (schema.anyOf) {
    const options = schema.anyOf.map((option) =>
      option.const === undefined ? describeSchema(option) : JSON.stringify(option.const),
    );
    return options.length > 1 ? `${options.slice(0, -1).join(', ')} or ${options.at(-1)}` : (options[0] ?? 'a value');
  }
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  switch (schema.type) {
    case 'string':
      return `a text${range(schema.minLength, schema.maxLength, 'characters')}${
        schema.pattern === undefined ? '' : ` that matches ${schema.pattern}`
      }`;
    case 'number':
    case 'integer': {
      const kind = schema.multipleOf === 1 || schema.type === 'integer' ? 'a whole number' : 'a number';
      return `${kind}${range(schema.minimum, schema.maximum, '')}`;
    }
    case 'boolean':
      return 'true or false';
    case 'array':
      return `a list${range(schema.minItems, schema.maxItems, 'entries')}`;
    case 'object':
      return 'a JSON object';
    case 'null':
      return 'null';
    default:
      return 'a JSON value';
  }
}

function range(low: number | undefined, high: number | undefined, unit: string): string {
  const tail = unit === '' ? '' : ` ${unit}`;
  if (low !== undefined && high !== undefined) return ` of ${low} to ${high}${tail}`;
  if (low !== undefined) return ` of at least ${low}${tail}`;
  if (high !== undefined) return ` of at most ${high}${tail}`;
  return '';
}

/** `http.validation_failed` for one field, in the same shape as a schema's faults. */
export const fieldError = (field: string, rule: 'required' | 'wrong_value', message: string): AppError =>
  httpErrors.validation_failed({ message, param: field, details: { errors: [{ field, rule, message }] } });
