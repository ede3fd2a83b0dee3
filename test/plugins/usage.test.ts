import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Json } from '../../src/kernel/index.ts';
import {
  checkFact,
  checkRequestQuantities,
  checkUsageFacts,
  findUsage,
} from '../../src/plugins/manifest/check-facts.ts';
import type { UsageField } from '../../src/plugins/types.ts';
import { rounds } from '../support/full-run.ts';

const schema: Record<string, UsageField> = {
  length: { kind: 'number', unit: 'second' },
  clips: { kind: 'number', unit: 'count' },
  out_tokens: { kind: 'number', unit: 'token' },
  credits: { kind: 'number', unit: 'credit' },
  size: { kind: 'enum', values: ['720p', ''], enumLabels: {} },
  audio: { kind: 'boolean' },
};
test("a model's profile is that of its name at the vendor, else of the client's, else the plugin's own facts", () => {
  const profile = (name: string) => ({
    models: [name],
    usageSchema: { [name]: { kind: 'boolean' as const } },
    usageExamples: [],
  });
  const manifest = { usageSchema: schema, usageExamples: [], usageProfiles: [profile('a'), profile('b')] };
  const facts = (model: string, upstreamModel?: string) =>
    Object.keys(findUsage(manifest, upstreamModel === undefined ? { model } : { model, upstreamModel }).usageSchema);
  expect([facts('a', 'b'), facts('b', 'endpoint-1'), facts('alias', 'a')]).toEqual([['b'], ['b'], ['a']]);
  expect(facts('c', 'd')).toEqual(Object.keys(schema));
});

const MAX = 2_147_483_647;

describe('facts that a hook reports', () => {
  const table: [returned: unknown, outcome: unknown][] = [
    [
      { length: 3600, clips: 128, size: '720p', audio: false },
      { length: 3600, clips: 128, size: '720p', audio: false },
    ],
    [
      { length: 0, clips: 0.5 },
      { length: 0, clips: 0.5 },
    ],
    [
      { out_tokens: MAX + 1, credits: 1e300 },
      { out_tokens: MAX, credits: MAX },
    ],
    [
      { out_tokens: 0.25, credits: 12.5 },
      { out_tokens: 0.25, credits: 12.5 },
    ],
    [{ size: '' }, { size: '' }],
    [{}, {}],
    [null, null],
    [undefined, null],
    [{ length: 3600.5 }, 'usage fact "length" must be at most 3600'],
    [{ clips: 129 }, 'usage fact "clips" must be at most 128'],
    [{ length: Number.NaN }, 'usage fact "length" must be a finite number of at least 0'],
    [{ out_tokens: Number.POSITIVE_INFINITY }, 'usage fact "out_tokens" must be a finite number of at least 0'],
    [{ credits: -1 }, 'usage fact "credits" must be a finite number of at least 0'],
    [{ length: '8' }, 'usage fact "length" must be a number'],
    [{ length: null }, 'usage fact "length" must be a number'],
    [{ size: '720P' }, 'usage fact "size" must be one of "720p", ""'],
    [{ audio: 'true' }, 'usage fact "audio" must be true or false'],
    // Not declared: numbers within the general limits stay, the rest no price can name.
    [{ width: 3600, note: 'x', flag: true, list: [1] }, { width: 3600 }],
    [{ width: 3601 }, 'usage fact "width" must be at most 3600'],
    [{ width: -1 }, 'usage fact "width" must be a finite number of at least 0'],
    [{ duration: 3601 }, 'usage fact "duration" must be at most 3600'],
    [{ Num_Images: 129 }, 'usage fact "Num_Images" must be at most 128'],
    [{ 'number-of-videos': 129 }, 'usage fact "number-of-videos" must be at most 128'],
    [{ n: 128 }, { n: 128 }],
    [
      { completionTokens: 50_000, totalTokens: 1e12, upstreamUnits: 7 },
      { completionTokens: 50_000, totalTokens: MAX, upstreamUnits: 7 },
    ],
    [[], 'usage must be an object or null'],
    ['8', 'usage must be an object or null'],
  ];
  test.each(table)('%j', (returned, outcome) => {
    const checked = checkUsageFacts(schema, returned as Json | undefined);
    const found: unknown = checked.ok ? checked.value : checked.error.message;
    expect(found).toEqual(outcome);
  });

  test('prototype pollution: a fact called __proto__ stays a fact', () => {
    const checked = checkUsageFacts({}, JSON.parse('{"__proto__":5,"constructor":"x"}'));
    expect(checked.ok && Object.entries(checked.value ?? {})).toEqual([['__proto__', 5]]);
  });
});

describe('unbilled quantity: what a request body may ask for', () => {
  const accepted: unknown[] = [
    null,
    'length=9999',
    { length: 3600, n: '128', nested: [{ out_tokens: MAX }] },
    { duration: -1, metadata: { seconds: '-1' } },
    { length: 'long', n: '', clips: ' ', seconds: '10s' },
    { seed: 1e12, width: 8192, face_count: 50_000 },
    { n: [1000], clips: { max: 9999 } },
  ];
  test.each(accepted)('%j is accepted', (body) => {
    expect(checkRequestQuantities(schema, body as Json)).toEqual({ ok: true, value: null });
  });

  const refused: [body: unknown, error: string][] = [
    [{ length: 3601 }, '"length" must be at most 3600'],
    [{ LENGTH: '3601' }, '"LENGTH" must be at most 3600'],
    [{ input: { parameters: [{ durationSeconds: 1e6 }] } }, '"durationSeconds" must be at most 3600'],
    [{ num_images: 129 }, '"num_images" must be at most 128'],
    [{ numberOfVideos: 129 }, '"numberOfVideos" must be at most 128'],
    [{ sample_count: '1e9' }, '"sample_count" must be at most 128'],
    [{ n: ' 500 ' }, '"n" must be at most 128'],
    [{ n: '0xffff' }, '"n" must be at most 128'],
    [{ n: 'Infinity' }, '"n" must be at most 128'],
    [{ n: -2 }, '"n" must be at least 0'],
    [{ seconds: '-0.5' }, '"seconds" must be at least 0'],
    [{ out_tokens: MAX + 1 }, `"out_tokens" must be at most ${MAX}`],
    [{ outTokens: 1e12 }, `"outTokens" must be at most ${MAX}`],
    [{ seconds: 5, metadata: { seconds: 9999 } }, '"seconds" must be at most 3600'],
  ];
  test.each(refused)('%j is refused', (body, error) => {
    expect(checkRequestQuantities(schema, body as Json)).toMatchObject({ ok: false, error: { message: error } });
  });

  test('a body nested as deep as JSON is read, and a wide one, are walked to the end', () => {
    let deep: Json = { n: 1000 };
    for (let level = 0; level < 250; level++) deep = level % 2 === 0 ? [deep] : { deep };
    expect(checkRequestQuantities(schema, deep)).toMatchObject({ ok: false });
    const wide = [...Array.from({ length: 1_000_000 }, () => ({ a: 1 })), { n: 1000 }];
    expect(checkRequestQuantities(schema, wide)).toMatchObject({ ok: false });
  });
});

test('no checked value is outside its field, and no value makes the check throw', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...Object.values(schema)),
      fc.anything({ withBigInt: true, withNullPrototype: true }),
      (field, value) => {
        const checked = checkFact(field, value);
        if (checked.ok) expect(checkFact(field, checked.value)).toEqual(checked);
        else expect(checked.error.message).toMatch(/^must be /);
      },
    ),
    { seed: 20_261_121, numRuns: rounds(2000) },
  );
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      checkUsageFacts(schema, value as Json);
      checkRequestQuantities(schema, value as Json);
    }),
    { seed: 20_261_121, numRuns: rounds(500) },
  );
});
