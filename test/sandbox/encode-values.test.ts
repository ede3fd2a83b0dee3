import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { createEncodeValues, MAX_ENCODED_JSON_BYTES } from '../../src/sandbox/child/encode-values.ts';
import { loadEngine } from '../../src/sandbox/child/load-engine.ts';
import { rounds } from '../support/full-run.ts';
import { hook, MEBIBYTE, plugin, readResult, startSandbox } from './start-sandbox.ts';

const encodeValues = createEncodeValues();
const encode = (json: string) => encodeValues((target) => target.write(json, 'utf8'));

/** What the guest's `JSON.stringify` says of the values of a JSON text. */
let readInGuest: (json: string) => string;

beforeAll(async () => {
  const { quickjs } = await (await loadEngine()).open(64 * MEBIBYTE);
  const context = quickjs.newRuntime().newContext();
  const stringify = context.unwrapResult(context.evalCode('JSON.stringify'));
  readInGuest = (json) => {
    const encoded = encode(json);
    if (!encoded) throw new Error(`not encoded: ${json.slice(0, 100)}`);
    const buffer = context.newArrayBuffer(new Uint8Array(Buffer.concat([encoded.names, encoded.value])).buffer);
    const value = context.decodeBinaryJSON(buffer);
    return context.callFunction(stringify, context.undefined, [value]).unwrap().consume(context.getString);
  };
});

describe('the engine reads the values that the JSON says', () => {
  const integers = [0, 1, -1, 63, 64, -64, -65, 8191, 8192, 999_999_999, -999_999_999, 1_000_000_000, 2 ** 31 - 1];
  const floats = [-(2 ** 31), 2 ** 31, 2 ** 53, 1.5, -0.25, 1e21, 5e-324, 1.7976931348623157e308, 1_700_000_000_000];
  const texts = [
    '',
    'a',
    'x'.repeat(63),
    'x'.repeat(64),
    'é',
    '✓é',
    '\u{1f600}',
    '"\\\b\f\n\r\t/\0\u007f\u2028',
    'x'.repeat(9_000),
  ];
  const names = ['', 'a"b', 'a"c', 'a\\b', 'é', '✓', '10', '2', '4294967295', '__proto__', 'toJSON', 'constructor'];
  const samples: Record<string, unknown[]> = {
    numbers: [...integers, ...floats],
    words: [true, false, null],
    texts,
    containers: [[], {}, [[], {}], { a: [{ a: {} }] }, [[[1], 2], { b: [3, { a: 4 }] }]],
    names: names.map((name) => Object.fromEntries([[name, 1]])),
    'names again': [
      JSON.parse('[{"\\u0000":0,"":1},{"a\\n":2,"a":3}]'),
      Array.from({ length: 1_000 }, (_, i) => ({ [`name-${i % 700}`]: i, same: `${i}` })),
    ],
    'many members': [Array.from({ length: 20_000 }, (_, i) => i % 7)],
  };
  for (const [what, values] of Object.entries(samples)) {
    test(what, () => {
      for (const json of [...values, values].map((value) => JSON.stringify(value)))
        expect(readInGuest(json)).toBe(JSON.stringify(JSON.parse(json)));
    });
  }
  test('a negative zero', () => expect(readInGuest('[-0]')).toBe('[0]'));
  test('a name that comes twice', () => expect(readInGuest('{"a":1,"b":2,"a":3}')).toBe('{"a":3,"b":2}'));
  test('any value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5, stringUnit: 'binary' }), (value) => {
        const json = JSON.stringify(value);
        expect(readInGuest(json)).toBe(JSON.stringify(JSON.parse(json)));
      }),
      { numRuns: rounds(500) },
    );
  });
});

test('what is deep or not JSON is not encoded', () => {
  expect(encode('['.repeat(300) + ']'.repeat(300))).toBeUndefined();
  for (const json of [
    '',
    '[',
    '[1',
    '[1,',
    '{"a"',
    '{"a":',
    '{"a":1',
    '{a:1}',
    '"a',
    '[1}',
    '{"a":1]',
    'nul',
    '1,',
    '-',
    '[]]',
  ])
    expect(encode(json), json).toBeUndefined();
});

describe('a plugin sees no difference', () => {
  const sandbox = startSandbox();
  afterAll(() => sandbox.close());
  const look = plugin(`
    export function back(value) { return value }
    export function measureDepth(value) {
      let depth = 0;
      for (let at = value; typeof at === 'object'; at = at[0]) depth++;
      return depth;
    }
    export function describe(value) {
      const { writable, enumerable, configurable } = Object.getOwnPropertyDescriptor(value, 'a');
      return {
        plain: Object.getPrototypeOf(value) === Object.prototype && Array.isArray(value.list),
        flags: [writable, enumerable, configurable, Object.isExtensible(value)],
        names: Object.keys(value),
        own: Object.hasOwn(value, '__proto__'),
        sum: value.list[0] + value.a,
      };
    }`);
  test('objects are plain, in the order of the text', async () => {
    const value = JSON.parse('{"z":1,"a":2,"7":3,"__proto__":{"evil":true},"list":[40]}');
    expect(await readResult(sandbox, look, hook('describe', [value]))).toEqual({
      plain: true,
      flags: [true, true, true, true],
      names: ['7', 'z', 'a', '__proto__', 'list'],
      own: true,
      sum: 42,
    });
  });
  test('short and long arguments come back', async () => {
    for (const value of ['short', 'é'.repeat(MAX_ENCODED_JSON_BYTES / 2)])
      expect(await readResult(sandbox, look, hook('back', [value]))).toBe(value);
  });
  test('deep arguments arrive', async () => {
    for (const depth of [200, 300]) {
      const deep = JSON.parse(`${'['.repeat(depth)}1${']'.repeat(depth)}`);
      expect(await readResult(sandbox, look, hook('measureDepth', [deep]))).toBe(depth);
    }
  });
});
