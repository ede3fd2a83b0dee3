import type { ValidationError } from 'elysia';
import { type AppError, type Sentence, type SentenceValue, sentence, toSentence } from '../../kernel/index.ts';
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

/** `said` names the field; the fault's own reason may say more briefly what the field takes. */
type Fault = {
  said: Sentence;
  entry: Sentence & { field: string; rule: 'unknown_field' | 'required' | 'wrong_value' };
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
  const [first] = faults.values();
  return httpErrors.validation_failed({
    message: first?.said,
    param: first?.entry.field,
    details: { errors: [...faults.values()].map(({ entry }) => entry) },
  });
}

type SchemaFault = { field: string; message: string; schema: Schema };

function describeFault(error: ValidationError, { field, message, schema }: SchemaFault): Fault {
  const of = error.type === 'query' ? 'query' : 'field';
  const toFault = (rule: Fault['entry']['rule'], said: Sentence): Fault => ({ said, entry: { field, rule, ...said } });
  if (message === 'Unexpected property') {
    const names = Object.keys(schema.properties ?? {}).join(', ');
    const said =
      names === ''
        ? sentence(`http.${of}_unknown_none`, { name: field })
        : sentence(`http.${of}_unknown`, { name: field, names });
    return toFault('unknown_field', said);
  }
  const wanted = describeSchema(schema);
  if (field === '') return toFault('wrong_value', sentence('http.body_wrong', { wanted }));
  const named = { name: field, wanted };
  if (message === 'Expected required property') return toFault('required', sentence(`http.${of}_missing`, named));
  const { said, entry } = toFault('wrong_value', sentence(`http.${of}_wrong`, named));
  const bounds = describeBounds(schema);
  return { said, entry: bounds === undefined ? entry : { ...entry, reason: bounds.reason, params: bounds.params } };
}

/** What a text, a number or a list may be, for the panel to say beside the field. */
function describeBounds(schema: Schema): Sentence | undefined {
  const { type, minLength = 0, maxLength, minimum, maximum, minItems = 0, maxItems } = schema;
  if (type === 'string' && maxLength !== undefined && schema.pattern === undefined) {
    return sentence('http.characters', { min: minLength, max: maxLength });
  }
  if ((type === 'number' || type === 'integer') && minimum !== undefined && maximum !== undefined) {
    return sentence('http.number', { min: minimum, max: maximum });
  }
  if (type === 'array' && maxItems !== undefined) return sentence('http.entries', { min: minItems, max: maxItems });
  return undefined;
}

/** `/models/0` → `models.0` */
const nameField = (pointer: string): string =>
  pointer.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~').slice(0, MAX_NAME);

/** JSON that a field takes is written out in every language. */
function describeSchema(schema: Schema): SentenceValue {
  if (schema.anyOf) {
    const options = schema.anyOf.map((option) =>
      option.const === undefined ? describeSchema(option) : JSON.stringify(option.const),
    );
    return joinOptions(options) ?? sentence('wanted.value');
  }
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  switch (schema.type) {
    case 'string': {
      const what = within('text', schema.minLength, schema.maxLength);
      return schema.pattern === undefined ? what : sentence('wanted.matches', { what, pattern: schema.pattern });
    }
    case 'number':
    case 'integer': {
      const isWhole = schema.multipleOf === 1 || schema.type === 'integer';
      return within(isWhole ? 'whole' : 'number', schema.minimum, schema.maximum);
    }
    case 'boolean':
      return sentence('wanted.boolean');
    case 'array':
      return within('list', schema.minItems, schema.maxItems);
    case 'object':
      return sentence('wanted.object');
    case 'null':
      return 'null';
    default:
      return sentence('wanted.value');
  }
}

/** `a`, `a or b`, `a, b or c` */
function joinOptions([first, ...others]: readonly SentenceValue[]): SentenceValue | undefined {
  const rest = others.length === 0 ? undefined : joinOptions(others);
  if (first === undefined || rest === undefined) return first;
  return sentence(others.length === 1 ? 'wanted.either' : 'wanted.more', { first, rest });
}

type Measured = 'text' | 'whole' | 'number' | 'list';

function within(what: Measured, min: number | undefined, max: number | undefined): Sentence {
  if (min !== undefined && max !== undefined) return sentence(`wanted.${what}_range`, { min, max });
  if (min !== undefined) return sentence(`wanted.${what}_min`, { min });
  return max === undefined ? sentence(`wanted.${what}`) : sentence(`wanted.${what}_max`, { max });
}

/** `http.validation_failed` for one field, in the same shape as a schema's faults. */
export const fieldError = (field: string, rule: 'required' | 'wrong_value', message: Sentence): AppError =>
  httpErrors.validation_failed({
    message,
    param: field,
    details: { errors: [{ field, rule, ...toSentence(message) }] },
  });
