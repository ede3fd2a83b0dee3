import fc from 'fast-check';
import type { Meta } from '../../../contracts/v1.d.ts';
import { baseMeta } from './base.ts';

const oneOf = (letters: string): fc.Arbitrary<string> => fc.constantFrom(...letters);
const word = (letters: string, maxLength: number): fc.Arbitrary<string> =>
  fc.string({ unit: oneOf(letters), minLength: 1, maxLength });

const LETTERS = 'abcxyzABCXYZ';
const label = word(`${LETTERS}0189`, 12);
const hostname = fc.array(label, { maxLength: 3 }).map((labels) => [...labels, 'example'].join('.'));

/** Texts with letters of one and two UTF-16 units, spaces around some of them. */
const text = (max: number): fc.Arbitrary<string> =>
  fc
    .tuple(fc.constantFrom('', ' ', '\n'), word('a é即😀-.', max - 1), fc.constantFrom('', ' ', '\t'))
    .map(([before, middle, after]) => `${before}x${middle.trim()}${after}`);

const locale = fc.constantFrom('de', 'FR', 'zh-hans', 'ZH-Hant-tw', 'es-419', 'sr-LATN', 'yue', 'pt-br');
const localized = (max: number): fc.Arbitrary<Record<string, string> | string> =>
  fc.oneof(
    text(max),
    fc
      .tuple(
        fc.constantFrom('en', 'EN'),
        text(max),
        fc.uniqueArray(fc.tuple(locale, text(max)), { selector: ([tag]) => tag }),
      )
      .map(([en, english, others]) => Object.fromEntries([[en, english], ...others])),
  );

const description = fc.option(localized(256), { nil: undefined });
const enumField = fc
  .tuple(
    fc.uniqueArray(label, { minLength: 1, maxLength: 4 }),
    fc.option(localized(256), { nil: undefined }),
    description,
  )
  .map(([values, first, about]) => ({
    enum: values,
    ...(first === undefined ? {} : { enumLabels: { [values[0] ?? '']: first } }),
    ...(about === undefined ? {} : { description: about }),
  }));
const field = fc.oneof(
  enumField,
  fc.record({ type: fc.constant('number' as const), unit: fc.constantFrom('second', 'count', 'token', 'credit') }),
  fc.record({ type: fc.constant('boolean' as const) }),
);
type Field = { enum?: string[]; type?: string; unit?: string };
const readFact = (one: Field, pick: number): unknown => {
  if (one.enum) return one.enum[pick % one.enum.length];
  return one.type === 'boolean' ? pick % 2 === 0 : pick % 129;
};

/** A usage schema with examples that fit it. */
const usage = fc
  .tuple(fc.dictionary(label, field, { maxKeys: 4 }), fc.array(fc.nat(), { minLength: 1, maxLength: 3 }))
  .map(([usageSchema, picks]) => ({
    usageSchema,
    usageExamples: picks.map((pick) => ({
      label: `example ${pick}`,
      facts: Object.fromEntries(Object.entries(usageSchema).map(([name, one]) => [name, readFact(one, pick)])),
    })),
  }));

const someModels = fc.subarray([...baseMeta.models], { minLength: 1 });
const responses = fc.record(
  {
    name: fc.constantFrom('proto_responses', 'openai_responses'),
    supports: fc.shuffledSubarray(['stream', 'sync', 'background'], { minLength: 1 }),
    models: someModels,
  },
  { requiredKeys: ['name', 'supports'] },
);
const video = fc.oneof(
  fc.constantFrom('proto_video', 'openai_video'),
  fc.record({ name: fc.constant('proto_video'), models: someModels }, { requiredKeys: ['name'] }),
);
const protocols = fc
  .tuple(fc.option(video), fc.option(responses))
  .map((claims) => claims.filter((one) => one !== null));

const method = fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE');
const segment = fc.oneof(word(`${LETTERS}019_~-`, 8), fc.constantFrom('..a', '...'));
/** A route below a segment that no other has. */
const route = (index: number): fc.Arbitrary<object> =>
  fc
    .record({
      method,
      segments: fc.array(segment, { maxLength: 3 }),
      end: fc.constantFrom('', '/', '/:id', '/*rest'),
      type: fc.constantFrom('submit', 'dynamic', 'query'),
      models: fc.option(someModels, { nil: undefined }),
    })
    .map(({ segments, end, type, models, ...rest }) => {
      const path = ['', `acme${index}`, ...segments].join('/');
      if (type === 'query') return { ...rest, type, path: `${path}/:task_id`, render: 'show' };
      const narrowed = models === undefined ? {} : { models };
      return { ...rest, type, path: `${path}${end}`, render: 'show', decode: 'read', ...narrowed };
    });
const routes = fc
  .nat({ max: 3 })
  .chain((count) => fc.tuple(...Array.from({ length: count }, (_, index) => route(index))));

const port = fc
  .option(fc.nat({ max: 65_535 }), { nil: undefined })
  .map((value) => (value === undefined ? '' : `:${value}`));
const number = fc.nat({ max: 99 });

/** Manifests that keep every rule. `models` begin with those of the base. */
export const validMeta: fc.Arbitrary<object> = fc
  .tuple(
    fc.record(
      {
        key: fc.tuple(oneOf('abz09'), word('az09_-', 29)).map((parts) => parts.join('')),
        name: text(40),
        version: fc
          .tuple(number, number, number, fc.constantFrom('', '-beta.1', '+b.5', '-0a+001'))
          .map(([major, minor, patch, rest]) => `${major}.${minor}.${patch}${rest}`),
        author: fc.record(
          { name: text(20), url: hostname.map((host) => `https://${host}/me`) },
          { requiredKeys: ['name'] },
        ),
        models: fc.uniqueArray(label, { maxLength: 3 }).map((more) => [...baseMeta.models, ...more]),
        fetchMode: fc.constantFrom('per_task', 'batch'),
        icon: fc.oneof(label, fc.constantFrom('', 'text', 'text:AC')),
        description: localized(512),
        sortPriority: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
        website: fc.oneof(
          fc.constant(''),
          fc.tuple(hostname, port).map(([host, at]) => `https://${host}${at}/a?b#c`),
        ),
        baseUrl: fc
          .tuple(fc.constantFrom('http', 'https'), hostname, port, fc.constantFrom('', '/', '/v1', '/v1//'))
          .map(([scheme, host, at, path]) => `${scheme}://${host}${at}${path}`),
        allowedHosts: fc.uniqueArray(
          fc.tuple(hostname, port).map(([host, at]) => host + at),
          { selector: (host) => host.toLowerCase() },
        ),
        channelTypes: fc.uniqueArray(fc.integer({ min: 1, max: 1000 }).filter((type) => type !== 60 && type !== 61)),
        protocols,
        routes,
        auth: fc.oneof(fc.constantFrom('', 'none', 'api_key'), fc.jsonValue()),
      },
      { requiredKeys: ['key', 'name', 'version', 'author', 'models', 'fetchMode'] },
    ),
    fc.option(usage, { nil: {} }),
  )
  .map(([meta, facts]) => ({ apiVersion: 1, ...meta, ...facts }) satisfies Partial<Record<keyof Meta, unknown>>);

/** The change that a row of the table makes to the base, made to another valid manifest. */
export function withChange(valid: object, changed: object): object {
  const base: Record<string, unknown> = { ...baseMeta };
  const names = new Set([...Object.keys(base), ...Object.keys(changed)]);
  const touched = [...names].filter((name) => (changed as Record<string, unknown>)[name] !== base[name]);
  // What refers to a part that changes goes with it, or it would be at fault as well.
  const drops = new Set(touched);
  if (drops.has('models')) for (const name of ['protocols', 'routes']) drops.add(name);
  if (drops.has('usageSchema') || drops.has('usageExamples'))
    for (const name of ['usageSchema', 'usageExamples']) drops.add(name);
  const kept = Object.entries(valid).filter(([name]) => !drops.has(name));
  const made = Object.entries(changed).filter(([name]) => touched.includes(name));
  return Object.fromEntries([...kept, ...made]);
}
