import {
  chooseRange,
  type FactRange,
  type LocalizedText,
  type Manifest,
  NUMBER_LIMITS,
  type RequestInput,
  type UsageField,
} from '../../plugins/index.ts';

/** One field of a request in JSON Schema; members that begin with `x-` are our extensions. */
export type SchemaField = {
  type: 'string' | 'number' | 'boolean';
  const?: string;
  enum?: string[] | number[];
  pattern?: string;
  minimum?: number;
  maximum?: number;
  multipleOf?: number;
  /** `plugin`: the range is the plugin's own, not that of every plugin. */
  'x-range'?: 'plugin';
  'x-unit'?: 'second' | 'count';
  /** A field that is no fact: a text, or a file as a URL or data URL. */
  'x-input'?: RequestInput['type'];
  'x-example'?: string;
  'x-description'?: LocalizedText;
  'x-enum-labels'?: Record<string, LocalizedText>;
};
export type RequestSchema = { type: 'object'; required: string[]; properties: Record<string, SchemaField> };

type RequestedModel = {
  model: string;
  /** What the channel maps it to: the name that the plugin knows. */
  upstreamModel: string;
  protoVideo: boolean;
};

/**
 * The fields that a form can offer. A manifest describes billed facts, not requests. So the schema
 * has the prompt, the plugin's `inputs`, the facts that plugins read from request fields of the
 * same name, and the size for video protocols. The plugin's `ranges` say what it takes of a fact,
 * and which facts no request states. Plugins take more fields, and report what is missing or wrong.
 */
export function describeRequest(
  { usageSchema, vendor }: Pick<Manifest, 'usageSchema' | 'vendor'>,
  { model, upstreamModel, protoVideo }: RequestedModel,
): RequestSchema {
  const names = [upstreamModel, model];
  const inputs = Object.entries(vendor?.inputs ?? {}).filter(
    ([name, { models }]) => !RESERVED.has(name) && (!models || names.some((each) => models.includes(each))),
  );
  const properties: RequestSchema['properties'] = {
    model: { type: 'string', const: model },
    prompt: { type: 'string' },
    ...Object.fromEntries(inputs.map(([name, input]) => [name, inputField(input)])),
    ...(protoVideo && !Object.hasOwn(usageSchema, 'size') ? { size: SIZE } : {}),
  };
  for (const [name, field] of Object.entries(usageSchema)) {
    const range = chooseRange(vendor?.ranges?.[name], names);
    const schema = range === null ? undefined : describeField(field, range);
    if (schema && !Object.hasOwn(properties, name)) properties[name] = schema;
  }
  const required = inputs.flatMap(([name, input]) => (input.required ? [name] : []));
  return { type: 'object', required: ['model', ...required], properties };
}

const RESERVED: ReadonlySet<string> = new Set(['model', 'prompt']);

const inputField = ({ type, description, example }: RequestInput): SchemaField => ({
  type: 'string',
  'x-input': type,
  ...(description && { 'x-description': description }),
  ...(example !== undefined && { 'x-example': example }),
});

const SIZE: SchemaField = { type: 'string', pattern: '^[0-9]+x[0-9]+$' };

/** The field's schema; undefined for quantities that only a vendor can count. */
function describeField(field: UsageField, range: FactRange): SchemaField | undefined {
  const text = field.description ? { 'x-description': field.description } : {};
  if (field.kind === 'boolean') return { type: 'boolean', ...text };
  if (field.kind === 'enum') {
    const taken = range.kind === 'values' ? field.values.filter((value) => range.values.includes(value)) : [];
    const values = taken.length === 0 ? field.values : taken;
    return { type: 'string', enum: values, 'x-enum-labels': field.enumLabels, ...text };
  }
  const { unit } = field;
  if (unit !== 'second' && unit !== 'count') return undefined;
  return { type: 'number', ...describeLimits(range, NUMBER_LIMITS[unit]), 'x-unit': unit, ...text };
}

function describeLimits(range: FactRange, limit: number): Partial<SchemaField> {
  if (range.kind === 'any') return { minimum: 0, maximum: limit };
  if (range.kind === 'numbers') {
    const { minimum, maximum, whole } = range;
    return { minimum, maximum, ...(whole ? { multipleOf: 1 } : {}), 'x-range': 'plugin' };
  }
  const values = range.values.filter((value) => typeof value === 'number').toSorted((a, b) => a - b);
  if (values.length === 0) return { minimum: 0, maximum: limit };
  return { minimum: Math.min(...values), maximum: Math.max(...values), enum: values, 'x-range': 'plugin' };
}
