import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { createJsonValueFinder, MAX_ID_CHARS, TOO_LONG_ID, type WantedValue } from '../../src/kernel/index.ts';
import { rounds } from '../support/full-run.ts';

const RUNS = { seed: 20_261_122, numRuns: rounds(300) };
const WANTED: Record<string, WantedValue> = {
  id: 'id',
  'output[].id': 'string',
  'response.output[].id': 'number',
  'item.id': 'length',
  'item[].id': 'number',
  'output[]': 'object',
  'item.*': 'object',
};

function find(text: string, sizes: readonly number[] = [1e9]) {
  const finder = createJsonValueFinder(WANTED);
  const bytes = Buffer.from(text);
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    finder.push(bytes.subarray(at, at + size));
    at += size;
  }
  return finder.end();
}

type Node = { [name: string]: unknown };

/** The same by a walk over what the parser gives. */
function walk(value: unknown, path: string): { path: string; value: string | number }[] {
  const want = WANTED[path];
  if (typeof value === 'string') {
    if (want === 'length') return [{ path, value: Buffer.byteLength(value) }];
    return want === 'id' || want === 'string' ? [{ path, value }] : [];
  }
  if (typeof value === 'number') {
    if (want === 'id') return [{ path, value: JSON.stringify(value) }];
    return want === 'number' ? [{ path, value }] : [];
  }
  if (Array.isArray(value)) return value.flatMap((item) => walk(item, `${path}[]`));
  if (typeof value !== 'object' || value === null) return [];
  const own =
    (want ?? WANTED[path.replace(/[^.]+$/, '*')]) === 'object' ? [{ path: want ? path : 'item.*', value: 1 }] : [];
  return [...own, ...members(value, path)];
}

const members = (value: object, path: string) =>
  Object.entries(value as Node).flatMap(([name, item]) => walk(item, path === '' ? name : `${path}.${name}`));

const text = fc.string({ unit: fc.constantFrom('"', '\\', '/', '\n', '[', '{', ':', ',', 'é', '😀', 'a') });
const name = fc.constantFrom('id', 'output', 'response', 'item', 'x"y', 'id\\');
const anyJson = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    fc.oneof(text, fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(name, tie('value')), { maxLength: 5 }).map((pairs) => Object.fromEntries(pairs)),
  ),
})).value;

describe('the finder of JSON values', () => {
  test('finds what a parser finds at the same paths, in whatever chunks the text comes', () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(anyJson, fc.constantFrom('', '  '), sizes, (value, indent, chunks) => {
        const written = JSON.stringify(value, null, indent);
        const isRoot = typeof value === 'object' && value !== null;
        expect(find(written, chunks)).toEqual(isRoot ? walk(JSON.parse(written), '') : []);
      }),
      RUNS,
    );
  });

  test('finds the same in a text that it reads whole', () => {
    const wanted: Record<string, WantedValue> = { ...WANTED, id: 'string', 'response.x"y': 'length' };
    const one = createJsonValueFinder(wanted);
    let whole = 0;
    fc.assert(
      fc.property(anyJson, (value) => {
        const written = Buffer.from(JSON.stringify(value));
        const pushed = createJsonValueFinder(wanted);
        pushed.push(written);
        one.reset();
        if (one.readWhole(written)) whole += 1;
        else one.push(written);
        expect(one.end()).toEqual(pushed.end());
      }),
      RUNS,
    );
    expect(whole).toBeGreaterThan(RUNS.numRuns / 3);
  });

  test('an escaped name, a broken text and ids as written are left to the reading of bytes', () => {
    const read = (wanted: Record<string, WantedValue>, text: string) =>
      createJsonValueFinder(wanted).readWhole(Buffer.from(text));
    const status = { 'response.status': 'string' } as const;
    expect(read(status, '{"delta":"a long text"}')).toBe(true);
    expect(read(status, '{"r\\u0065sponse":{"status":"failed"}}')).toBe(true);
    expect(read({ 'item.id': 'id' }, '{"delta":"a long text"}')).toBe(true);
    expect(read({ 'item.id': 'id' }, '{"\\u0069tem":{"id":1e400}}')).toBe(false);
    expect(read({ 'item.id': 'id' }, '{"item":{"id":1e400}}')).toBe(false);
    expect(read(status, '{"response":')).toBe(false);
    const finder = createJsonValueFinder(status);
    finder.readWhole(Buffer.from('{"r\\u0065sponse":{"status":"failed"}}'));
    expect(finder.end()).toEqual([{ path: 'response.status', value: 'failed' }]);
  });

  test('an id is found in full, and a number as it is written', () => {
    const written = ['7615917337495251231', '-0', '1E400', '1.50'];
    for (const id of written) expect(find(`{"id":${id}}`, [3])).toEqual([{ path: 'id', value: id }]);
    const long = '\u{1f600}'.repeat(MAX_ID_CHARS);
    const escaped = JSON.stringify(long).replace(
      /[^"]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
    for (const text of [JSON.stringify(long), escaped])
      expect(find(`{"id":${text}}`)).toEqual([{ path: 'id', value: long }]);
  });

  test('a count that is written as text is a number, any other text is none', () => {
    const counts = (written: string) => find(`{"item":[{"id":${written}}]}`).map(({ value }) => value);
    for (const [written, value] of [
      ['"12"', 12],
      ['" 7.50 "', 7.5],
      ['"1e3"', 1000],
      ['"-4"', -4],
    ] as const)
      expect([written, ...counts(written)]).toEqual([written, value]);
    for (const written of [
      '""',
      '"0x10"',
      '"12 tokens"',
      '"Infinity"',
      '"1e999"',
      '1E999',
      '"1,000"',
      `"${'1'.repeat(40)}"`,
    ])
      expect([written, ...counts(written)]).toEqual([written]);
  });

  test('the length of a text is the same, raw and escaped', () => {
    for (const [text, bytes] of [
      ['税'.repeat(400), 1200],
      ['😀é\n"\\/\u0000a', 4 + 2 + 6],
    ] as const) {
      const escaped = [...text].flatMap((char) => [...Array(char.length).keys()].map((i) => char.charCodeAt(i)));
      const written = escaped.map((code) => `\\u${code.toString(16).padStart(4, '0').toUpperCase()}`).join('');
      for (const sizes of [[1e9], [1], [5, 2]]) {
        const length = [{ path: 'item.id', value: bytes }];
        expect(find(`{"item":{"id":${JSON.stringify(text)}}}`, sizes)).toEqual(length);
        expect(find(`{"item":{"id":"${written}"}}`, sizes)).toEqual(length);
      }
    }
  });

  test('it is told whether a text may go on in another line', () => {
    const finder = createJsonValueFinder({});
    const answers = [' ', '{"a"', ':"}', '"', '}', ' '].map((part) => {
      finder.push(Buffer.from(part));
      return finder.goesOn();
    });
    expect(answers).toEqual([false, true, false, true, false, false]);
  });

  test('a text that breaks off gives nothing', () => {
    expect(find('{"id":"a","output":[{"id":"b"}')).toEqual([]);
    expect(find('{"id":"a')).toEqual([]);
    expect(find('')).toEqual([]);
  });

  test('a long string, a long number and a million levels cost no memory and give nothing', () => {
    expect(find(`{"output":[{"id":"${'a'.repeat(5000)}"}],"item":{"id":"b"}}`)).toEqual([
      { path: 'output[]', value: 1 },
      { path: 'item.id', value: 1 },
    ]);
    expect(find(`{"item":[{"id":${'1'.repeat(5000)}},{"id":7}]}`)).toEqual([{ path: 'item[].id', value: 7 }]);
    for (const id of [`"${'a'.repeat(30_000)}"`, '1'.repeat(3000)]) {
      expect(find(`{"id":${id},"item":{"id":"b"}}`)).toEqual([
        { path: 'id', value: TOO_LONG_ID },
        { path: 'item.id', value: 1 },
      ]);
    }
    expect(find(`{"x":${'['.repeat(1e6)}${']'.repeat(1e6)},"id":"c"}`)).toEqual([{ path: 'id', value: 'c' }]);
  });

  test('bill evasion: what stands behind many results is found, and their sum with it', () => {
    const items = Array(25_000).fill({});
    const found = find(JSON.stringify({ output: items, item: [{ id: 7 }], response: { output: [{ id: 8 }] } }));
    expect(found.slice(-2).map(({ value }) => value)).toEqual([7, 8]);
    const counts = found.flatMap(({ path, value }) => (path === 'output[]' ? Number(value) : []));
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(items.length);
    expect(found.length).toBeLessThan(11_000);
  });
});
