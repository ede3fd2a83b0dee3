import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import schema from '../../../contracts/v1.schema.json';
import { isObject, quoted, type Sentence, sentence } from '../../kernel/index.ts';
import type { ContractNeed, PluginFault } from '../types.ts';
import { makeFault, pointer, toHint } from './faults.ts';
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

/** `reason`: what the schema itself says of the rule. */
function describe(error: ErrorObject, reason: string | undefined): Sentence {
  const { keyword, params } = error;
  switch (keyword) {
    case 'type':
      return sentence('fault.type', { type: [params.type].flat().join(' or ') });
    case 'enum':
      return sentence('fault.one_of', { values: writeList(params.allowedValues) });
    case 'const':
      return sentence('fault.type', { type: writeList(params.allowedValue) });
    case 'maxLength':
      return sentence('fault.max_characters', { max: params.limit });
    case 'minItems':
      return params.limit === 1 ? sentence('fault.min_entry') : sentence('fault.min_entries', { limit: params.limit });
    case 'maxProperties':
      return sentence('fault.max_entries', { max: params.limit });
    case 'minimum':
      return sentence('fault.at_least', { limit: params.limit });
    case 'maximum':
      return sentence('fault.at_most', { limit: params.limit });
    default:
      // A test checks that every reason of the schema is in the catalogue.
      if (reason !== undefined) return sentence(reason as 'fault.blank');
      return error.message === undefined ? sentence('fault.invalid') : quoted(error.message);
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
    ? {
        ...makeFault(path, 'unknown_property', sentence('fault.unknown_property', { name })),
        needs: { code: 'field', name },
      }
    : { ...makeFault(path, 'removed_name', sentence('fault.removed', { name })), ...toHint(sentence(removed)) };
}

function explainMissing({ params, instancePath }: ErrorObject, subject: string): PluginFault {
  const name: string = params.missingProperty;
  return {
    ...makeFault(instancePath + pointer(name), 'required', sentence('fault.required')),
    ...toHint(hintForMissing(subject, name)),
  };
}

/** Reports every entry that equals an earlier one; the validator reports only one pair. */
function explainDuplicates({ data, instancePath }: ErrorObject, rule: RuleId): PluginFault[] {
  const faults: PluginFault[] = [];
  const seen = new Map<string, number>();
  for (const [index, entry] of (Array.isArray(data) ? data : []).entries()) {
    const text = JSON.stringify(entry);
    const other = seen.get(text);
    if (other === undefined) seen.set(text, index);
    else faults.push(makeFault(instancePath + pointer(index), rule, sentence('fault.same_entry', { number: other })));
  }
  return faults;
}

/** What a newer contract may have, where a value is unknown here. */
function findNeed(rule: RuleId, value: unknown): ContractNeed | undefined {
  if (rule === 'apiVersion.value')
    return Number.isInteger(value) && Number(value) > 1 ? { code: 'api', version: Number(value) } : undefined;
  const isProtocol = rule === 'protocol.bare.value' || rule === 'protocol.name.value';
  if (typeof value !== 'string') return undefined;
  if (rule === 'requiredCapabilities.item.value') return { code: 'capability', name: value };
  return isProtocol ? { code: 'protocol', name: value } : undefined;
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
    const fault = makeFault(locate(error), rule, describe(error, readText(schema, 'x-reason')));
    return [needs ? { ...fault, needs } : fault];
  });
}
