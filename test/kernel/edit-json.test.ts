import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { countNames, editJson, type Json, parseLongIds, readJsonMembers } from '../../src/kernel/index.ts';
import { rounds } from '../support/full-run.ts';

describe('editing JSON text', () => {
  const rows: [name: string, text: string, changes: Parameters<typeof editJson>[1], edited: string][] = [
    [
      'numbers and their spelling, order and spaces stay',
      '{ "2":1E400, "seed" : 9223372036854775807,"model":"a" ,"1":-0.0e-0,"id":7615917337495251231}\n',
      { model: 'b' },
      '{ "2":1E400, "seed" : 9223372036854775807,"model":"b" ,"1":-0.0e-0,"id":7615917337495251231}\n',
    ],
    ['a name with escapes', '{"m\\u006fdel":"a"}', { model: 'b' }, '{"m\\u006fdel":"b"}'],
    ['each member of the name', '{"model":"a","x":1,"model":"c"}', { model: 'b' }, '{"model":"b","x":1,"model":"b"}'],
    ['only the top level', '{"x":{"model":"a"},"model":"a"}', { model: 'b' }, '{"x":{"model":"a"},"model":"b"}'],
    ['brackets and quotes in texts', '{"x":"}],\\"{","model":"a"}', { model: 'b' }, '{"x":"}],\\"{","model":"b"}'],
    ['a new member', '{"x":[1,{}]}', { y: { z: true } }, '{"x":[1,{}],"y":{"z":true}}'],
    ['a new member of an empty object', ' { } ', { y: 1 }, ' { "y":1} '],
    ['a member of a member', '{"o":{"a":1e2},"x":1}', { o: { b: 2 } }, '{"o":{"a":1e2,"b":2},"x":1}'],
    [
      'names that every object inherits',
      '{"toString":1,"__proto__":2}',
      { x: 3 },
      '{"toString":1,"__proto__":2,"x":3}',
    ],
    ['an object in place of null', '{"o":null}', { o: { b: 2 } }, '{"o":{"b":2}}'],
    ['the first one removed', '{"a":1, "b":2}', { a: undefined }, '{"b":2}'],
    ['the last one removed', '{"a":1 , "b":2 }', { b: undefined }, '{"a":1 }'],
    ['two of three removed', '{"a":1,"b":[2],"c":3}', { b: undefined, c: undefined }, '{"a":1}'],
    ['all removed', '{"a":1,"b":2}', { a: undefined, b: undefined }, '{}'],
    ['all removed, one added', '{"a":1,"b":2}', { a: undefined, b: undefined, c: 3 }, '{"c":3}'],
  ];
  for (const [name, text, changes, edited] of rows)
    test(name, () => {
      expect(editJson(text, changes)).toBe(edited);
    });

  test('any object keeps its other members, whatever they are', () => {
    const names = fc.oneof(fc.string(), fc.constantFrom('a', 'b', '__proto__', '0'));
    const edits = fc.record({
      object: fc.dictionary(names, fc.jsonValue()),
      name: names,
      to: fc.option(fc.string(), { nil: undefined }),
      gap: fc.nat(3),
    });
    fc.assert(
      fc.property(edits, ({ object, name, to, gap }) => {
        const text = JSON.stringify(object, null, gap);
        const edited = JSON.parse(editJson(text, { [name]: to }));
        const others = (value: object) => Object.entries(value).filter(([other]) => other !== name);
        expect(others(edited)).toEqual(others(JSON.parse(text)));
        expect(new Map(Object.entries(edited)).get(name)).toBe(to);
        expect(readJsonMembers(text).names).toBe(countNames(JSON.parse(text)));
      }),
      { seed: 20_261_128, numRuns: rounds(300) },
    );
  });

  test('a repeated name counts once in the value and twice in the text', () => {
    const text = '{"a":{"b":1,"\\u0062":2},"c":[{"d":":"}]}';
    expect([readJsonMembers(text).names, countNames(JSON.parse(text))]).toEqual([5, 4]);
  });
});

const ROUNDED = Number('7615917337495251231');

describe('ids beyond 2^53', () => {
  const rows: [text: string, value: Json][] = [
    ['{"id":7615917337495251231}', { id: '7615917337495251231' }],
    ['{"data":{"task_id" : -7615917337495251231 }}', { data: { task_id: '-7615917337495251231' } }],
    [
      '{"taskId":7615917337495251231,"taskID":9007199254740993}',
      { taskId: '7615917337495251231', taskID: '9007199254740993' },
    ],
    ['{"t\\u0061sk_id":7615917337495251231}', { task_id: '7615917337495251231' }],
    [
      '{"video_ids":[1,7615917337495251231,{"n":1,"id":9007199254740992}]}',
      { video_ids: [1, '7615917337495251231', { n: 1, id: '9007199254740992' }] },
    ],
    ['{"id":{"x":1},"seed":9223372036854775807}', { id: { x: 1 }, seed: Number('9223372036854775807') }],
    ['{"id":9007199254740991,"x":"7615917337495251231"}', { id: 9007199254740991, x: '7615917337495251231' }],
    ['{"id":"a","grid":7615917337495251231,"valid":1}', { id: 'a', grid: ROUNDED, valid: 1 }],
    [
      '{"id":1234567890123456789.5,"b_id":1234567890123456789e2}',
      { id: Number('1234567890123456789.5'), b_id: Number('1234567890123456789e2') },
    ],
    ['[7615917337495251231]', [ROUNDED]],
    ['{"id":0.7615917337495251231}', { id: Number('0.7615917337495251231') }],
    ['{"id":1E400}', { id: Number.POSITIVE_INFINITY }],
  ];
  for (const [text, value] of rows)
    test(text, () => {
      expect(parseLongIds(text)).toEqual(value);
    });

  test('text that is not JSON is refused as by a parser', () => {
    for (const text of [
      '{"id":7615917337495251231',
      '{"id":07615917337495251231}',
      '7615917337495251231]',
      '{"id":7615917337495251231x}',
      '"7615917337495251231',
      '{"id":-}1234567890123456',
    ])
      expect(() => parseLongIds(text)).toThrow(SyntaxError);
  });

  test('other JSON is what a parser makes of it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(['1234567890123456', value]);
        expect(parseLongIds(text)).toEqual(JSON.parse(text));
      }),
      { seed: 20_261_128, numRuns: rounds(300) },
    );
  });
});
