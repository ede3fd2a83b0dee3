/** What counts as the same JSON for an Idempotency-Key. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { canonicalJson } from '../../src/kernel/index.ts';
import { rounds } from '../support/full-run.ts';

/** Runs are the same each time; a failure prints seed and path. */
const RUNS = { seed: 20_261_123, numRuns: rounds(300) };
const LONG = 'x'.repeat(3000);

describe('texts of the same value are equal', () => {
  test.each([
    ['spaces and order of names', '{"a": [1, {"b": null}], "c": true}', '{\n\t"c":true,"a":[ 1,{"b":null} ] }\r\n'],
    ['fractions of zero', '[1.0, 0.10, -2.50]', '[1,0.1,-2.5]'],
    ['exponents', '[1e2, 1E+2, 1500e-1, 0.001e3]', '[100,100.0,150,1]'],
    ['zeros', '[-0, 0.0, 0e999999999999999999999]', '[0,0,0]'],
    ['escapes', '"\\u00fc\\/\\u0041\\ud83d\\ude00"', '"ü/A😀"'],
    ['short escapes', '"\\n\\"\\\\n\\b\\f\\t"', '"\\u000a\\u0022\\u005cn\\u0008\\u000C\\u0009"'],
    ['escaped names', '{"\\u0061": 1, "b": 2}', '{"b":2,"a":1}'],
    ['repeated names: the last counts', '{"a": 1, "b": 0, "a": 2}', '{"b":0,"a":2}'],
    ['long texts in another order', `{"a":"${LONG}","b":["${LONG}"]}`, `{ "b": ["${LONG}"], "a": "${LONG}" }`],
  ])('%s', (_, one, other) => {
    expect(canonicalJson(one)).toBe(canonicalJson(other));
  });

  test('whatever the value, order and spaces', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        const other = JSON.stringify(reverseNames(JSON.parse(text)), null, 2);
        expect(canonicalJson(other)).toBe(canonicalJson(text));
      }),
      RUNS,
    );
  });
});

describe('texts of different values differ', () => {
  test.each([
    ['order of items', '[1,2]', '[2,1]'],
    ['numbers and texts', '[1]', '["1"]'],
    ['texts like the canonical form', '["1e0"]', '[1]'],
    ['big integers that are one double', '[9007199254740993]', '[9007199254740992]'],
    ['long integers', `[1${'0'.repeat(400)}1]`, `[1${'0'.repeat(400)}2]`],
    ['numbers beyond a double', '[1e400]', '[1e401]'],
    ['endless exponents', '[1e99999999999999999999]', '[1e99999999999999999998]'],
    ['signs', '[-1]', '[1]'],
    ['null and nothing', '{"a":null}', '{}'],
    ['empty things', '[{}]', '[[]]'],
    ['a member of the prototype', '{"__proto__":{"a":1}}', '{"a":1}'],
    ['names that swap their values', '{"a":1,"b":2}', '{"a":2,"b":1}'],
    ['lone surrogates', '"\\ud800"', '"\\ud801"'],
    ['long texts', `["${LONG}a"]`, `["${LONG}b"]`],
    ['a text and its digest', canonicalAsText(`"${LONG}"`), `"${LONG}"`],
    ['where a text ends', '["a,b"]', '["a","b"]'],
  ])('%s', (_, one, other) => {
    expect(canonicalJson(one)).not.toBe(canonicalJson(other));
  });

  test('whatever the values', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        const [first, second] = [JSON.stringify(one), JSON.stringify(other)];
        const areEqual = Bun.deepEquals(JSON.parse(first), JSON.parse(second), true);
        expect(canonicalJson(first) === canonicalJson(second)).toBe(areEqual);
      }),
      RUNS,
    );
  });
});

function canonicalAsText(text: string): string {
  return JSON.stringify(canonicalJson(text));
}

function reverseNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reverseNames);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, member]) => [name, reverseNames(member)]),
  );
}
