import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import schema from '../../../contracts/v1.schema.json';
import { isObject } from '../../kernel/index.ts';
import type { ContractNeed, PluginFault } from '../types.ts';
import { makeFault, pointer } from './faults.ts';
import { hintForMissing, REMOVED_NAMES, REMOVED_ROUTE_NAMES, type RuleId } from './rules.ts';

export type SchemaCheck = (meta: unknown) => readonly ErrorObject[];

/**
 * The manifest's schema as a function. Compiling takes about 35 ms in the binary, so it happens
 * once, at the first call. The schema is not validated against its meta-schema, which would take
 * another 30 ms: it is our own, and a test validates it.
 */
export function createSchemaCheck(): SchemaCheck {
  let validate: ReturnType<Ajv2020['compile']> | undefined;
  return (meta) => {
    validate ??= new Ajv2020({
      allErrors: true,
      verbose: true,
      strict: false,
      meta: false,
      validateSchema: false,
      code: { optimize: false },
    }).compile(schema);
    return validate(meta) ? [] : (validate.errors ?? []);
  };
}

/** The second half of a rule's id, by JSON Schema keyword. */
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
  not: 'forbidden',
};

const readText = (schema: Record<string, unknown>, key: string): string | undefined => {
  const text = schema[key];
  return typeof text === 'string' ? text : undefined;
};

const writeList = (values: unknown): string =>
  (Array.isArray(values) ? values : [values]).map((value) => JSON.stringify(value)).join(', ');

function describe(error: ErrorObject, schemaMessage: string | undefined): string {
  const { keyword, params } = error;
  switch (keyword) {
    case 'type':
      return `must be ${[params.type].flat().join(' or ')}`;
    case 'enum':
      return `must be one of ${writeList(params.allowedValues)}`;
    case 'const':
      return `must be ${writeList(params.allowedValue)}`;
    case 'maxLength':
      return `must have at most ${params.limit} characters`;
    case 'minItems':
      return `must have at least ${params.limit} ${params.limit === 1 ? 'entry' : 'entries'}`;
    case 'maxProperties':
      return `must have at most ${params.limit} entries`;
    case 'minimum':
    case 'maximum':
      return `must be ${params.comparison} ${params.limit}`;
    default:
      return schemaMessage ?? error.message ?? 'is not valid';
  }
}

/** The pointer of a fault. A fault of a property's name is at the property, not at its object. */
const locate = ({ instancePath, propertyName }: ErrorObject): string =>
  propertyName === undefined ? instancePath : instancePath + pointer(propertyName);

function explainUnknown({ params, instancePath }: ErrorObject): PluginFault {
  const name: string = params.additionalProperty;
  const path = instancePath + pointer(name);
  const inRoute = /^\/routes\/\d+$/.test(instancePath);
  const removed = inRoute ? REMOVED_ROUTE_NAMES[name] : instancePath === '' ? REMOVED_NAMES[name] : undefined;
  return removed === undefined
    ? { ...makeFault(path, 'unknown_property', `unknown property "${name}"`), needs: { code: 'fields' } }
    : { ...makeFault(path, 'removed_name', `"${name}" is no longer part of the contract`), hint: removed };
}

function explainMissing({ params, instancePath }: ErrorObject, subject: string): PluginFault {
  const name: string = params.missingProperty;
  return { ...makeFault(instancePath + pointer(name), 'required', 'is required'), hint: hintForMissing(subject, name) };
}

/** Reports every entry that equals an earlier one; the validator reports only one pair. */
function explainDuplicates({ data, instancePath }: ErrorObject, rule: RuleId): PluginFault[] {
  const faults: PluginFault[] = [];
  const seen = new Map<string, number>();
  for (const [index, entry] of (Array.isArray(data) ? data : []).entries()) {
    const text = JSON.stringify(entry);
    const other = seen.get(text);
    if (other === undefined) seen.set(text, index);
    else faults.push(makeFault(instancePath + pointer(index), rule, `is the same as entry ${other}`));
  }
  return faults;
}

/** What a newer contract may have, where a value is unknown here. */
function findNeed(rule: RuleId, value: unknown): ContractNeed | undefined {
  if (rule === 'apiVersion.value')
    return Number.isInteger(value) && Number(value) > 1 ? { code: 'api', version: Number(value) } : undefined;
  const isProtocol = rule === 'protocol.bare.value' || rule === 'protocol.name.value';
  return isProtocol && typeof value === 'string' ? { code: 'protocols' } : undefined;
}

/**
 * Translates schema errors into faults, one per broken rule. Errors of `if` and of wrapping
 * keywords are dropped, because they repeat others.
 */
export function explainSchemaFaults(errors: readonly ErrorObject[]): PluginFault[] {
  const mistyped = new Set(errors.filter(({ keyword }) => keyword === 'type').map(({ instancePath }) => instancePath));
  return errors.flatMap((error): PluginFault[] => {
    const { keyword } = error;
    if (keyword === 'if' || keyword === 'propertyNames') return [];
    // A value of the wrong type is reported once, not as an unknown value too.
    if (keyword === 'enum' && mistyped.has(error.instancePath)) return [];
    const schema = isObject(error.parentSchema) ? error.parentSchema : {};
    const subject = readText(schema, 'x-rule') ?? 'manifest';
    if (keyword === 'additionalProperties') return [explainUnknown(error)];
    if (keyword === 'required') return [explainMissing(error, subject)];
    // A test checks that every such pair in the schema is a rule.
    const rule = `${subject}.${readText(schema, 'x-aspect') ?? ASPECTS[keyword] ?? keyword}` as RuleId;
    if (keyword === 'uniqueItems') return explainDuplicates(error, rule);
    const needs = findNeed(rule, error.data);
    const fault = makeFault(locate(error), rule, describe(error, readText(schema, 'x-message')));
    return [needs ? { ...fault, needs } : fault];
  });
}
