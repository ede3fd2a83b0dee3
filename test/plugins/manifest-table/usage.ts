import { m, type Row } from './base.ts';

const seconds = { type: 'number', unit: 'second' };
const count = { type: 'number', unit: 'count' };
const profile = (more: object): object => m({ usageProfiles: [{ models: ['acme-1'], schema: {}, ...more }] });
const tokens = { type: 'number', unit: 'token' };
const size = { enum: ['s', 'l'] };
const field = (a: unknown): object => m({ usageSchema: { a } });
const labels = (enumLabels: unknown): object => field({ ...size, enumLabels });
const example = (usageSchema: object, facts: unknown, more: object = {}): object =>
  m({ usageSchema, usageExamples: [{ label: 'x', facts, ...more }] });
const fact = (a: object, value: unknown): object => example({ a }, { a: value });
const VALUE = '/usageExamples/0/facts/a usageExample.facts.value';

/** Usage schema and examples. */
export const usage: readonly Row[] = [
  ['a usage schema as list', m({ usageSchema: [] }), '/usageSchema usageSchema.type'],
  ['a usage schema null', m({ usageSchema: null }), '/usageSchema usageSchema.type'],
  ['an empty field name', m({ usageSchema: { '': seconds } }), '/usageSchema/ usageSchema.name.format'],
  ['a blank field name', m({ usageSchema: { ' ': seconds } }), '/usageSchema/  usageSchema.name.format'],
  ['a usage field as text', field('number'), '/usageSchema/a usageField.type'],
  ['a usage field as list', field(['s']), '/usageSchema/a usageField.type'],
  ['a usage field without form', field({}), '/usageSchema/a/type required'],
  ['a usage field with a description alone', field({ description: 'x' }), '/usageSchema/a/type required'],
  ['a unit alone', field({ unit: 'second' }), '/usageSchema/a/type required'],
  ['an unknown usage property', field({ ...seconds, price: 1 }), '/usageSchema/a/price unknown_property'],
  [
    'a counted thing of seconds',
    field({ ...seconds, unitLabel: 'x' }),
    '/usageSchema/a/unitLabel usageField.unitLabel.forbidden',
  ],
  [
    'a counted thing of an enum',
    field({ ...size, unitLabel: 'x' }),
    '/usageSchema/a/unitLabel usageField.unitLabel.forbidden',
  ],
  ['an empty counted thing', field({ ...count, unitLabel: '' }), '/usageSchema/a/unitLabel text.format'],
  [
    'a counted thing without English',
    field({ ...count, unitLabel: { zh: 'x' } }),
    '/usageSchema/a/unitLabel text.en.required',
  ],
  ['profiles as object', m({ usageProfiles: {} }), '/usageProfiles usageProfiles.type'],
  ['a profile as text', m({ usageProfiles: ['x'] }), '/usageProfiles/0 usageProfile.type'],
  ['a profile without schema', profile({ schema: undefined }), '/usageProfiles/0/schema required'],
  ['a profile with a schema null', profile({ schema: null }), '/usageProfiles/0/schema usageSchema.type'],
  ['a profile without models', profile({ models: undefined }), '/usageProfiles/0/models required'],
  ['a profile of no model', profile({ models: [] }), '/usageProfiles/0/models usageProfile.models.count'],
  ['a profile of a foreign model', profile({ models: ['x'] }), '/usageProfiles/0/models/0 usageProfile.models.subset'],
  ['an unknown profile property', profile({ price: 1 }), '/usageProfiles/0/price unknown_property'],
  ['a wrong field of a profile', profile({ schema: { a: {} } }), '/usageProfiles/0/schema/a/type required'],
  ['tokens of a profile without examples', profile({ schema: { a: tokens } }), '/usageProfiles/0/examples required'],
  [
    'an example of a profile by the default schema',
    m({
      usageSchema: { a: seconds },
      usageProfiles: [{ models: ['acme-1'], schema: {}, examples: [{ label: 'x', facts: { a: 1 } }] }],
    }),
    '/usageProfiles/0/examples/0/facts/a usageExample.facts.undeclared',
  ],
  ['profile models as text', profile({ models: 'acme-1' }), '/usageProfiles/0/models usageProfile.models.type'],
  ['a number as profile model', profile({ models: [1] }), '/usageProfiles/0/models/0 usageProfile.models.item.type'],
  [
    'a model in two profiles',
    m({
      usageProfiles: [
        { models: ['acme-1'], schema: {} },
        { models: [' acme-1'], schema: {} },
      ],
    }),
    '/usageProfiles/1/models/0 usageProfile.models.unique',
  ],

  ['an enum as text', field({ enum: 's' }), '/usageSchema/a/enum usageField.enum.type'],
  ['an empty enum', field({ enum: [] }), '/usageSchema/a/enum usageField.enum.count'],
  ['an enum value twice', field({ enum: ['x', 'x'] }), '/usageSchema/a/enum/1 usageField.enum.unique'],
  ['a number in an enum', field({ enum: [1] }), '/usageSchema/a/enum/0 usageField.enum.item.type'],
  ['an enum with type', field({ ...size, type: 'number' }), '/usageSchema/a/type usageField.type.forbidden'],
  ['an enum with unit', field({ ...size, unit: 'count' }), '/usageSchema/a/unit usageField.unit.forbidden'],
  ['a number without unit', field({ type: 'number' }), '/usageSchema/a/unit required'],
  ['an unknown unit', field({ type: 'number', unit: 'usd' }), '/usageSchema/a/unit usageField.unit.value'],
  ['a unit in the plural', field({ type: 'number', unit: 'seconds' }), '/usageSchema/a/unit usageField.unit.value'],
  ['a number as unit', field({ type: 'number', unit: 1 }), '/usageSchema/a/unit usageField.unit.value'],
  ['an unknown type', field({ type: 'string' }), '/usageSchema/a/type usageField.type.value'],
  ['the type integer', field({ type: 'integer' }), '/usageSchema/a/type usageField.type.value'],
  ['a boolean with unit', field({ type: 'boolean', unit: 'count' }), '/usageSchema/a/unit usageField.unit.forbidden'],
  [
    'labels on a boolean',
    field({ type: 'boolean', enumLabels: {} }),
    '/usageSchema/a/enumLabels usageField.enumLabels.forbidden',
  ],
  [
    'labels on a number',
    field({ ...seconds, enumLabels: {} }),
    '/usageSchema/a/enumLabels usageField.enumLabels.forbidden',
  ],

  ['labels as list', labels(['S']), '/usageSchema/a/enumLabels usageField.enumLabels.type'],
  ['a label of no value', labels({ m: 'M' }), '/usageSchema/a/enumLabels/m usageField.enumLabels.declared'],
  ['a label in other case', labels({ S: 'M' }), '/usageSchema/a/enumLabels/S usageField.enumLabels.declared'],
  ['an empty label', labels({ s: '' }), '/usageSchema/a/enumLabels/s text.format'],
  ['a number as label', labels({ s: 1 }), '/usageSchema/a/enumLabels/s text.type'],
  ['a label of 257', labels({ s: 'x'.repeat(257) }), '/usageSchema/a/enumLabels/s text.length'],
  [
    'a label of 257 in a locale',
    labels({ s: { en: 'x', zh: '😀'.repeat(257) } }),
    '/usageSchema/a/enumLabels/s/zh text.length',
  ],
  ['a label without English', labels({ s: { zh: 'x' } }), '/usageSchema/a/enumLabels/s text.en.required'],
  ['labels that collide', labels({ s: { en: 'x', EN: 'y' } }), '/usageSchema/a/enumLabels/s/EN text.locale.unique'],
  ['a label with a bad locale', labels({ s: { en: 'x', e: 'y' } }), '/usageSchema/a/enumLabels/s/e text.locale.format'],

  ['a blank field description', field({ ...seconds, description: ' ' }), '/usageSchema/a/description text.format'],
  ['a number as field description', field({ ...size, description: 1 }), '/usageSchema/a/description text.type'],
  [
    'a field description of 257',
    field({ ...seconds, description: 'x'.repeat(257) }),
    '/usageSchema/a/description text.length',
  ],
  [
    'a field description of 257 in a locale',
    field({ ...seconds, description: { en: 'x', de: 'x'.repeat(257) } }),
    '/usageSchema/a/description/de text.length',
  ],
  [
    'a field description without English',
    field({ type: 'boolean', description: { zh: 'x' } }),
    '/usageSchema/a/description text.en.required',
  ],
  [
    'field descriptions that collide',
    field({ type: 'boolean', description: { en: 'x', 'zh-cn': 'y', 'ZH-CN': 'z' } }),
    '/usageSchema/a/description/ZH-CN text.locale.unique',
  ],

  ['tokens without example', field(tokens), '/usageExamples required'],
  [
    'tokens with no example',
    m({ usageSchema: { a: tokens }, usageExamples: [] }),
    '/usageExamples usageExamples.token.count',
  ],
  ['examples as object', m({ usageSchema: { a: seconds }, usageExamples: {} }), '/usageExamples usageExamples.type'],
  ['a text as example', m({ usageSchema: { a: seconds }, usageExamples: ['x'] }), '/usageExamples/0 usageExample.type'],
  [
    'an unknown example property',
    example({ a: seconds }, { a: 1 }, { price: 1 }),
    '/usageExamples/0/price unknown_property',
  ],
  [
    'an example without label',
    example({ a: seconds }, { a: 1 }, { label: undefined }),
    '/usageExamples/0/label required',
  ],
  [
    'an example with a blank label',
    example({ a: seconds }, { a: 1 }, { label: '' }),
    '/usageExamples/0/label usageExample.label.format',
  ],
  [
    'a number as label',
    example({ a: seconds }, { a: 1 }, { label: 1 }),
    '/usageExamples/0/label usageExample.label.type',
  ],
  ['an example without facts', example({ a: seconds }, undefined), '/usageExamples/0/facts required'],
  ['a list as facts', example({ a: seconds }, []), '/usageExamples/0/facts usageExample.facts.type'],
  [
    'an incomplete example',
    example({ a: seconds, b: size }, { a: 1 }),
    '/usageExamples/0/facts/b usageExample.facts.complete',
  ],
  [
    'an undeclared fact',
    example({ a: seconds }, { a: 1, c: 1 }),
    '/usageExamples/0/facts/c usageExample.facts.undeclared',
  ],
  [
    'an example without a schema',
    m({ usageExamples: [{ label: 'x', facts: { a: 1 } }] }),
    '/usageExamples/0/facts/a usageExample.facts.undeclared',
  ],
  [
    'an inherited fact',
    example({ toString: seconds }, {}),
    '/usageExamples/0/facts/toString usageExample.facts.complete',
  ],
  ['a fact outside its enum', fact(size, 'm'), VALUE],
  ['a fact in other case', fact(size, 'S'), VALUE],
  ['a number for an enum', fact({ enum: ['1'] }, 1), VALUE],
  ['a text for a number', fact(seconds, '5'), VALUE],
  ['a text for a boolean', fact({ type: 'boolean' }, 'true'), VALUE],
  ['a number for a boolean', fact({ type: 'boolean' }, 1), VALUE],
  ['a fact null', fact(seconds, null), VALUE],
  ['seconds above an hour', fact(seconds, 3601), VALUE],
  ['a negative fact', fact(seconds, -1), VALUE],
  ['a count above 128', fact({ type: 'number', unit: 'count' }, 129), VALUE],
  ['negative tokens', fact(tokens, -1), VALUE],
  ['negative credits', fact({ type: 'number', unit: 'credit' }, -0.5), VALUE],

  ['an empty usage schema', m({ usageSchema: {} })],
  [
    'every usage form',
    m({
      usageSchema: {
        a: seconds,
        b: { ...size, enumLabels: { s: 'Small' } },
        c: { type: 'boolean', description: 'Sound' },
      },
    }),
  ],
  [
    'every unit',
    m({ usageSchema: { a: seconds, b: { type: 'number', unit: 'count' }, c: { type: 'number', unit: 'credit' } } }),
  ],
  ['tokens with an example', fact(tokens, 1e12)],
  ['an hour and 128 pieces', example({ a: seconds, b: { type: 'number', unit: 'count' } }, { a: 3600, b: 128 })],
  ['fractions', example({ a: seconds, b: { type: 'number', unit: 'credit' } }, { a: 0.5, b: 1.25 })],
  ['an empty enum value', fact({ enum: ['', 'x'] }, '')],
  ['labels by locale for some values', labels({ s: { EN: 'Small', 'zh-hans': '小' } })],
  ['256 code points', labels({ s: '😀'.repeat(256) })],
  ['a usage field called __proto__', m({ usageSchema: JSON.parse('{"__proto__":{"type":"boolean"}}') })],
  [
    'twenty examples',
    m({
      usageSchema: { a: seconds },
      usageExamples: Array.from({ length: 20 }, () => ({ label: 'x', facts: { a: 1 } })),
    }),
  ],
  ['examples without fields', m({ usageExamples: [{ label: 'x', facts: {} }] })],
];
