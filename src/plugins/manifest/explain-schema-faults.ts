import type { ErrorObject } from 'ajv/dist/2020.js';
import { isObject } from '../../kernel/index.ts';
import type { PluginFault } from '../types.ts';
import { pointer } from './faults.ts';
import { REMOVED_NAMES, REMOVED_ROUTE_NAMES } from './removed-names.ts';

/** What is wrong about a rule's subject, by JSON Schema keyword. */
const ASPECTS: Record<string, string> = {
  type: 'type',
  enum: 'value',
  const: 'value',
  pattern: 'format',
  minLength: 'length',
  maxLength: 'length',
  minItems: 'count',
  maxItems: 'count',
  maxProperties: 'count',
  minimum: 'range',
  maximum: 'range',
  uniqueItems: 'unique',
  required: 'required',
  additionalProperties: 'unknown',
  not: 'forbidden',
};

const textOf = (schema: Record<string, unknown>, key: string): string | undefined => {
  const text = schema[key];
  return typeof text === 'string' ? text : undefined;
};

const list = (values: unknown): string =>
  (Array.isArray(values) ? values : [values]).map((value) => JSON.stringify(value)).join(', ');

function describe(error: ErrorObject, own: string | undefined): string {
  const { keyword, params } = error;
  switch (keyword) {
    case 'type':
      return `must be ${[params.type].flat().join(' or ')}`;
    case 'enum':
      return `must be one of ${list(params.allowedValues)}`;
    case 'const':
      return `must be ${list(params.allowedValue)}`;
    case 'maxLength':
      return `must have at most ${params.limit} characters`;
    case 'minItems':
      return `must have at least ${params.limit} ${params.limit === 1 ? 'entry' : 'entries'}`;
    case 'maxProperties':
      return `must have at most ${params.limit} entries`;
    case 'minimum':
    case 'maximum':
      return `must be ${params.comparison} ${params.limit}`;
    case 'uniqueItems':
      return `is the same as entry ${Math.min(params.i, params.j)}`;
    case 'required':
      return 'is required';
    default:
      return own ?? error.message ?? 'is not valid';
  }
}

/** Where a fault sits: a missing or unknown property is named itself, not the object around it. */
function locate(error: ErrorObject): string {
  const { keyword, params, instancePath } = error;
  if (keyword === 'required') return instancePath + pointer(params.missingProperty);
  if (keyword === 'additionalProperties') return instancePath + pointer(params.additionalProperty);
  if (keyword === 'uniqueItems') return instancePath + pointer(Math.max(params.i, params.j));
  if (error.propertyName !== undefined) return instancePath + pointer(error.propertyName);
  return instancePath;
}

function explainUnknown(error: ErrorObject): PluginFault {
  const name: string = error.params.additionalProperty;
  const path = locate(error);
  const removed = (/^\/routes\/\d+$/.test(error.instancePath) ? REMOVED_ROUTE_NAMES : REMOVED_NAMES)[name];
  if (removed && (error.instancePath === '' || error.instancePath.startsWith('/routes/'))) {
    return { path, rule: 'removed_name', message: `"${name}" is no longer part of the contract`, hint: removed };
  }
  return { path, rule: 'unknown_property', message: `unknown property "${name}"` };
}

/** Schema errors in the product's words, one a rule that is broken. Errors of `if` and of wrapping keywords say nothing new. */
export function explainSchemaFaults(errors: readonly ErrorObject[]): PluginFault[] {
  const faults: PluginFault[] = [];
  const mistyped = new Set(errors.filter(({ keyword }) => keyword === 'type').map(({ instancePath }) => instancePath));
  for (const error of errors) {
    if (error.keyword === 'if' || error.keyword === 'propertyNames') continue;
    // A value of the wrong type is said to be that, not to be no known value as well.
    if (error.keyword === 'enum' && mistyped.has(error.instancePath)) continue;
    const schema = isObject(error.parentSchema) ? error.parentSchema : {};
    if (error.keyword === 'additionalProperties') {
      faults.push(explainUnknown(error));
      continue;
    }
    const subject = textOf(schema, 'x-rule') ?? 'manifest';
    const rule = error.keyword === 'required' ? 'required' : `${subject}.${ASPECTS[error.keyword] ?? error.keyword}`;
    const hint = textOf(schema, 'x-hint');
    const message = describe(error, textOf(schema, 'x-message'));
    faults.push({ path: locate(error), rule, message, ...(hint === undefined ? {} : { hint }) });
  }
  return faults;
}
