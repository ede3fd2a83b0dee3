import { isObject } from '../../kernel/index.ts';

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char);

/** Deeper members are left to openapi.json. */
const MAX_DEPTH = 4;

type Schema = Record<string, unknown>;
type Field = { name: string; schema: Schema; isRequired: boolean };

/** A JSON Schema as HTML: a table of its fields, or its type in words. */
export function renderSchema(schema: unknown): string {
  if (!isObject(schema)) return '';
  const fields = listFields(schema, '', 0);
  if (fields.length === 0) return `<p>${describeType(schema)}</p>`;
  return renderFields(fields);
}

/** The parameters of an operation as HTML. */
export function renderParameters(parameters: readonly unknown[]): string {
  const fields = parameters.filter(isObject).map((parameter) => ({
    name: `${parameter.name} (${parameter.in})`,
    schema: { ...(isObject(parameter.schema) ? parameter.schema : {}), description: parameter.description },
    isRequired: parameter.required === true,
  }));
  return fields.length === 0 ? '' : renderFields(fields);
}

/** A value that fits the schema, from its examples; of objects required and example fields. */
export function makeExample(schema: unknown): unknown {
  if (!isObject(schema)) return {};
  const [example] = joinValues(schema.examples);
  if (example !== undefined) return example;
  if ('const' in schema) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  if (isObject(schema.properties)) {
    const required = joinValues(schema.required);
    return Object.fromEntries(
      Object.entries(schema.properties)
        .filter(([name, member]) => required.includes(name) || (isObject(member) && 'examples' in member))
        .map(([name, member]) => [name, makeExample(member)]),
    );
  }
  const [type] = typeof schema.type === 'string' ? [schema.type] : joinValues(schema.type);
  if (type === 'array') return [];
  if (type === 'boolean') return true;
  return type === 'integer' || type === 'number' ? 1 : type === 'object' ? {} : 'text';
}

const renderFields = (fields: readonly Field[]): string =>
  `<div class="wide"><table><tbody>${fields.map(renderField).join('')}</tbody></table></div>`;

const renderField = ({ name, schema, isRequired }: Field): string => {
  const description = typeof schema.description === 'string' ? ` ${escapeHtml(schema.description)}` : '';
  const [example] = joinValues(schema.examples);
  const shown = example === undefined ? '' : ` <span class="soft">e.g. <code>${json(example)}</code></span>`;
  return `<tr><td><code>${escapeHtml(name)}</code>${isRequired ? '' : ' <span class="soft">optional</span>'}</td><td>${describeType(
    schema,
  )}${describeBounds(schema)}.${description}${shown}</td></tr>`;
};

/** Members of members follow their owner, as `error.code` and `data[].id`. */
function listFields(schema: Schema, prefix: string, depth: number): Field[] {
  if (depth > MAX_DEPTH) return [];
  if (isObject(schema.items)) return listFields(schema.items, `${prefix}[]`, depth + 1);
  if (!isObject(schema.properties)) return [];
  const required = joinValues(schema.required);
  return Object.entries(schema.properties).flatMap(([member, value]) => {
    if (!isObject(value)) return [];
    const name = prefix === '' ? member : `${prefix}.${member}`;
    return [{ name, schema: value, isRequired: required.includes(member) }, ...listFields(value, name, depth + 1)];
  });
}

function describeType(schema: Schema): string {
  if (typeof schema.$ref === 'string') {
    const name = escapeHtml(schema.$ref.split('/').at(-1) ?? '');
    return `<a href="#object-${name}">${name}</a>`;
  }
  const options = [...joinValues(schema.anyOf), ...joinValues(schema.oneOf)].filter(isObject);
  if (options.length > 0) return [...new Set(options.map(describeType))].join(' or ');
  if ('const' in schema) return `<code>${json(schema.const)}</code>`;
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => `<code>${json(value)}</code>`).join(', ');
  const types = typeof schema.type === 'string' ? [schema.type] : joinValues(schema.type);
  if (types.includes('array') && isObject(schema.items)) return `array of ${describeType(schema.items)}`;
  return types.length > 0 ? escapeHtml(types.join(' or ')) : 'any value';
}

const BOUNDS = [
  ['minimum', 'maximum', ''],
  ['minLength', 'maxLength', ' characters'],
  ['minItems', 'maxItems', ' items'],
] as const;

function describeBounds(schema: Schema): string {
  return BOUNDS.map(([lowest, highest, unit]) => {
    const low = readBound(schema[lowest]);
    const high = readBound(schema[highest]);
    if (low !== undefined && high !== undefined) return `, ${low} to ${high}${unit}`;
    if (high !== undefined) return `, at most ${high}${unit}`;
    return low === undefined ? '' : `, at least ${low}${unit}`;
  }).join('');
}

/** Schemas of whole numbers name the largest safe one, which tells a reader nothing. */
const readBound = (bound: unknown): number | undefined =>
  typeof bound === 'number' && Math.abs(bound) < Number.MAX_SAFE_INTEGER ? bound : undefined;

const joinValues = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const json = (value: unknown): string => escapeHtml(JSON.stringify(value) ?? '');
