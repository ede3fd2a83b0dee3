import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import schema from '../../contracts/v1.schema.json';
import { isObject } from '../../src/kernel/index.ts';
import { checkManifest } from '../../src/plugins/manifest/check-manifest.ts';
import { publishMeta } from '../../src/plugins/manifest/normalize-meta.ts';
import { hintForMissing, RULES } from '../../src/plugins/manifest/rules.ts';
import { type Members, membersFor, readDeclarations } from './contract-parts.ts';
import { baseMeta } from './manifest-table/base.ts';

type Schema = { [key: string]: unknown; properties?: Record<string, Schema>; required?: string[]; enum?: unknown[] };

const declarations = readDeclarations(readFileSync(new URL('../../contracts/v1.d.ts', import.meta.url), 'utf8'));
const definitions = schema.$defs as unknown as Record<string, Schema>;
const manifest = schema as unknown as Schema;

/** The properties that a definition allows: `false` forbids one by name. */
const allowed = ({ properties = {} }: Schema): string[] =>
  Object.entries(properties).flatMap(([name, value]) => ((value as unknown) === false ? [] : [name]));
const optional = (members: Members, wanted: boolean): string[] =>
  [...members].flatMap(([name, member]) => (member.optional === wanted ? [name] : [])).sort();

function expectInStep(members: Members, definition: Schema): void {
  expect([...members.keys()].sort()).toEqual(allowed(definition).sort());
  expect(optional(members, false)).toEqual([...(definition.required ?? [])].sort());
  for (const [name, { type }] of members) {
    const words = declarations.words(type);
    const property = definition.properties?.[name];
    const listed = property?.enum ?? (typeof property?.const === 'string' ? [property.const] : undefined);
    expect([name, words?.toSorted()]).toEqual([name, (listed as string[] | undefined)?.toSorted()]);
  }
}

describe('declaration file and schema have the same members, requirements and values', () => {
  const same = [
    ...[
      'FileReference',
      'FilePlaceholder',
      'SubmitIntent',
      'QueryIntent',
      'ContentDescriptor',
      'SubmitResult',
      'TaskResult',
    ],
    ...[
      'TaskQueryContext',
      'BatchQueryContext',
      'ResponseInfo',
      'SubmitResponse',
      'Artifact',
      'TaskView',
      'NativeError',
    ],
    ...['RenderEventsResult', 'SubmitError', 'ArtifactResolution'],
  ];
  test.each(same)('%s', (name) => {
    expectInStep(declarations.members(name), definitions[name] ?? {});
  });

  test('RequestDescriptor, with the members of submissions', () => {
    expectInStep(declarations.members('SubmitDescriptor'), definitions.RequestDescriptor ?? {});
  });

  test('BatchItem, which is a TaskResult with more', () => {
    const { TaskResult = {}, BatchItem = {} } = definitions;
    expectInStep(declarations.members('BatchItem'), {
      properties: { ...TaskResult.properties, ...BatchItem.properties },
      required: [...(TaskResult.required ?? []), ...(BatchItem.required ?? [])],
    });
  });

  test('meta and its author', () => {
    const meta = declarations.members('Meta');
    expect(meta.get('apiVersion')?.type).toBe('1');
    expectInStep(meta, manifest);
    const inline = (name: string): Members => membersFor(/\{([\s\S]*)\}/.exec(meta.get(name)?.type ?? '')?.[1] ?? '');
    expectInStep(inline('author'), manifest.properties?.author ?? {});
  });

  // Unions: the schema has the members of all forms, and needs what all of them need.
  const united = (
    forms: readonly Members[],
  ): { names: string[]; needed: string[]; words: Record<string, string[]> } => {
    const names = [...new Set(forms.flatMap((form) => [...form.keys()]))].sort();
    const words: Record<string, string[]> = {};
    for (const name of names) {
      const known = forms.flatMap((form) => declarations.words(form.get(name)?.type ?? '') ?? []);
      if (known.length > 0) words[name] = [...new Set(known)].sort();
    }
    const needed = names.filter((name) => forms.every((form) => form.get(name)?.optional === false));
    return { names, needed, words };
  };
  const readWords = (properties: Record<string, Schema> = {}): Record<string, string[]> =>
    Object.fromEntries(
      Object.entries(properties).flatMap(([name, { enum: listed }]) =>
        listed ? [[name, (listed as string[]).toSorted()]] : [],
      ),
    );

  test.each([['Route'], ['UsageField'], ['UsageExample'], ['UsageProfile']])('%s', (name) => {
    const { names, needed, words } = united(declarations.alternatives(name));
    const definition = definitions[name] ?? {};
    expect(names).toEqual(allowed(definition).sort());
    expect(needed).toEqual([...(definition.required ?? [])].sort());
    expect(words).toEqual(readWords(definition.properties));
  });

  test('ProtocolEntry', () => {
    const { else: object } = definitions.ProtocolEntry as unknown as {
      else: Schema & { then: { properties: Record<string, Schema> }; properties: { name: { enum: string[] } } };
    };
    const { supports } = object.then.properties as unknown as { supports: { items: { enum: string[] } } };
    const { names, needed, words } = united(declarations.alternatives('ProtocolEntry'));
    expect(names).toEqual(Object.keys(object.then.properties).sort());
    expect(needed).toEqual(object.required ?? []);
    expect(words.name).toEqual(object.properties.name.enum.toSorted());
    expect(declarations.words('ResponsesMode')?.toSorted()).toEqual(supports.items.enum.toSorted());
  });
});

describe('schema and checker', () => {
  const ASPECTS: Record<string, string> = {
    ...{ type: 'type', enum: 'value', const: 'value', pattern: 'format', maxLength: 'length', minItems: 'count' },
    ...{
      maxProperties: 'count',
      minimum: 'range',
      maximum: 'range',
      uniqueItems: 'unique',
      not: 'forbidden',
      maxContains: 'unique',
    },
  };
  const parts: Schema[] = [];
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(walk);
    if (!isObject(value)) return;
    if (typeof value['x-rule'] === 'string') parts.push(value as Schema);
    for (const [name, member] of Object.entries(value)) if (name !== '$defs') walk(member);
  };
  walk(schema);
  for (const name of ['LocalizedText', 'ProtocolEntry', 'Route', 'UsageField']) walk(definitions[name]);

  test('every rule of the schema is in the catalogue, and nothing in it has a bound without a rule', () => {
    const rules = parts.flatMap((part) =>
      Object.keys(part).flatMap((keyword) =>
        ASPECTS[keyword] ? [`${part['x-rule']}.${part['x-aspect'] ?? ASPECTS[keyword]}`] : [],
      ),
    );
    expect(new Set(rules).size).toBeGreaterThan(70);
    expect(rules.filter((rule) => !(rule in RULES))).toEqual([]);
  });

  test('every required property has an example in its hint', () => {
    const needed = parts.flatMap((part) =>
      (part.required ?? []).map((name) => [String(part['x-rule']), name] as const),
    );
    expect(needed.length).toBeGreaterThan(15);
    for (const [subject, name] of needed) expect(hintForMissing(subject, name)).not.toBe(`Add ${name}.`);
  });

  test('the checked manifest has the names of the schema', () => {
    const checked = checkManifest(
      { ...baseMeta, icon: 'text', description: 'x', website: 'https://x.y', baseUrl: 'https://x.y', auth: '' },
      {},
      () => [],
    );
    if (!checked.ok) throw new Error(JSON.stringify(checked.error));
    expect(Object.keys(publishMeta(checked.value)).sort()).toEqual(allowed(manifest).sort());
  });
});
