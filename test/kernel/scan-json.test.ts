import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  createJsonScanner,
  type JsonBound,
  type JsonBounds,
  MAX_JSON_NAME_BYTES,
  MAX_JSON_NUMBER_BYTES,
  sliceChunks,
} from '../../src/kernel/index.ts';
import { rounds } from '../support/full-run.ts';
import { processorMs } from '../support/processor-time.ts';

/** The same texts in every run; a failure prints seed and path. */
const RUNS = { seed: 20_261_122, numRuns: rounds(300) };
const NO_BOUNDS = { maxBytes: 1e9, maxValues: 1e9, maxDepth: 1e9 };

function scan(text: string, bounds: Partial<JsonBounds> = {}, sizes: readonly number[] = [1e9]) {
  const scanner = createJsonScanner({ ...NO_BOUNDS, ...bounds });
  const bytes = Buffer.from(text);
  let passed: JsonBound | undefined;
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    passed = scanner.scan(bytes.subarray(at, at + size));
    at += size;
  }
  return { ...scanner.counts, passed };
}

/** By recursion over what the parser gives. */
function count(value: unknown): { values: number; depth: number } {
  if (typeof value !== 'object' || value === null) return { values: 1, depth: 0 };
  const inner = Object.values(value).map(count);
  return {
    values: inner.reduce((sum, { values }) => sum + values, 1),
    depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
  };
}

const chunkSizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });
const spaces = fc.constantFrom('', ' ', '\t', '\n  ');
const text = fc.string({ unit: fc.constantFrom('"', '\\', '/', '\n', '[', '{', ':', ',', 'é', '😀', 'a') });
const anyJson = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    fc.oneof(text, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.boolean(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(text, tie('value')), { maxLength: 4 }).map((pairs) => Object.fromEntries(pairs)),
  ),
})).value;

describe('the JSON scanner', () => {
  test('bounds the length of a number, in pieces too', () => {
    const longest = '1'.repeat(MAX_JSON_NUMBER_BYTES);
    for (const sizes of [[1e9], [7, 8192]]) {
      expect(scan(`[${longest},-${longest.slice(1)},true]`, {}, sizes).passed).toBeUndefined();
      for (const number of [`${longest}0`, `0.${longest}`, `1e${longest}`])
        expect(scan(`{"a":["${longest}0",${number}]}`, {}, sizes).passed).toBe('maxNumberBytes');
    }
  });

  test('bounds the bytes of all names together as they are written, and not those of values', () => {
    const half = 'n'.repeat(MAX_JSON_NAME_BYTES / 2 - 10);
    for (const sizes of [[1e9], [7, 8192]]) {
      expect(scan(`{"${half}":0,"${half}":0}`, {}, sizes).passed).toBeUndefined();
      expect(scan(`{"${half}":0,"b":{"${half}":[{"${'c'.repeat(40)}":0}]}}`, {}, sizes).passed).toBe('maxNameBytes');
      expect(scan(`{"${'\\n'.repeat(MAX_JSON_NAME_BYTES / 2)}":0}`, {}, sizes).passed).toBe('maxNameBytes');
      const members = '{"a":0,"b":[{"c":"d"}],"a":{"e":":"}}';
      expect(scan(members, { maxNames: 5 }, sizes).passed).toBeUndefined();
      expect(scan(members, { maxNames: 4 }, sizes).passed).toBe('maxNames');
      expect(scan(`["${half}","${half}","${half}"]`, {}, sizes).passed).toBeUndefined();
      expect(scan(`{"a":"${half}","b":"${half}${half}"}`, {}, sizes).passed).toBeUndefined();
    }
  });

  test('counts what the parser makes of a text, in whatever chunks it comes', () => {
    fc.assert(
      fc.property(anyJson, spaces, chunkSizes, (value, indent, sizes) => {
        const written = JSON.stringify(value, null, indent);
        const { values, depth } = count(JSON.parse(written));
        expect(scan(written, {}, sizes)).toEqual({
          bytes: Buffer.byteLength(written),
          values,
          depth,
          passed: undefined,
        });
      }),
      RUNS,
    );
  });

  test('takes a text at its exact bounds and names the first bound that a text passes', () => {
    fc.assert(
      fc.property(anyJson, chunkSizes, (value, sizes) => {
        const written = JSON.stringify(value);
        const { values, depth } = count(JSON.parse(written));
        const bytes = Buffer.byteLength(written);
        expect(scan(written, { maxBytes: bytes, maxValues: values, maxDepth: depth }, sizes).passed).toBeUndefined();
        expect(scan(written, { maxBytes: bytes - 1 }, sizes).passed).toBe('maxBytes');
        expect(scan(written, { maxValues: values - 1 }, sizes).passed).toBe('maxValues');
        if (depth > 0) expect(scan(written, { maxDepth: depth - 1 }, sizes).passed).toBe('maxDepth');
      }),
      RUNS,
    );
  });

  test('a broken text never hides values from the count that a parser makes before it finds the fault', () => {
    // The valid beginning has five values already, whatever follows.
    for (const rest of ['', '::::', ']]]]', '"::', '}}:}']) {
      expect(scan(`[1,[2,3${rest}`, { maxValues: 4 }).passed).toBe('maxValues');
    }
  });

  test('stops at a bound: what comes after it is not read', () => {
    const scanner = createJsonScanner({ ...NO_BOUNDS, maxValues: 20_000 });
    expect(scanner.scan(Buffer.from(`[${'{},'.repeat(2_000_000)}`))).toBe('maxValues');
    expect(scanner.counts.values).toBe(20_001);
    expect(scanner.scan(Buffer.from('{}'))).toBe('maxValues');
    expect(scanner.counts.values).toBe(20_001);
  });

  test('a hundred thousand levels take no stack', () => {
    expect(scan('['.repeat(100_000)).depth).toBe(100_000);
    expect(scan('[{"a":'.repeat(100_000), { maxDepth: 64 })).toMatchObject({ depth: 65, passed: 'maxDepth' });
  });

  const worst = 2 * 1024 * 1024;
  test.each([
    ['escaped quotes', `"${'\\"'.repeat(worst / 2)}`],
    ['backslashes', `"${'\\'.repeat(worst)}`],
    ['empty strings', '"",'.repeat(worst / 3)],
    ['brackets', '['.repeat(worst)],
    ['one long string', `"${'a'.repeat(worst)}`],
  ])('takes linear time for %s', (_name, written) => {
    const part = Buffer.from(written.slice(0, written.length / 16));
    const whole = Buffer.from(written);
    const measureTime = (bytes: Uint8Array) => processorMs(() => createJsonScanner(NO_BOUNDS).scan(bytes), 5);
    // Sixteen times as long takes about sixteen times; a square would take 256 times.
    expect(measureTime(whole)).toBeLessThan(80 * measureTime(part) + 50);
  });
});

describe('slices of chunks', () => {
  test('give the same bytes, and let other work run within a large chunk', async () => {
    const chunks = [Buffer.alloc(700_000, 1), Buffer.alloc(0), Buffer.alloc(3, 2)];
    const source = (async function* () {
      yield* chunks;
    })();
    let turns = 0;
    const turn = () => {
      turns += 1;
      timer = setImmediate(turn);
    };
    let timer = setImmediate(turn);
    const slices: Buffer[] = [];
    for await (const slice of sliceChunks(source)) slices.push(Buffer.from(slice));
    clearImmediate(timer);
    expect(Buffer.concat(slices).equals(Buffer.concat(chunks))).toBe(true);
    expect(slices.every(({ length }) => length <= 256 * 1024)).toBe(true);
    expect(turns).toBeGreaterThan(1);
  });
});
