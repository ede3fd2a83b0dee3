import { describe, expect, test } from 'bun:test';
import { parsePriceExpression } from '../../src/billing/parse-price.ts';

const inputs = { facts: { seconds: 5, hd: true, resolution: '1080p' }, model: 'demo-video', action: 'text_to_video' };

describe('a price expression', () => {
  for (const [source, usd] of [
    ['0.25', 0.25],
    ['0.05 * u("seconds")', 0.25],
    ['u("hd") ? 2 : 1', 2],
    ['u("resolution") === "1080p" ? 0.1 : 0.05', 0.1],
    ['model == "demo-video" && action != "remix" ? 3 : 4', 3],
    ['max(1, u("seconds") - 10)', 1],
    ['ceil(u("seconds") / 2) * 0.5', 1.5],
    ['min(u("seconds"), 3) + floor(1.9) + round(1.5) + abs(-1)', 7],
    ['(1 + 2) * 3 % 5', 4],
    ['!u("hd") ? 9 : 0', 0],
    ['(0.1)', 0.1],
    ['((1 + 2)) * (u("seconds"))', 15],
  ] as const) {
    test(`${source} gives ${usd}`, () => {
      const parsed = parsePriceExpression(source);
      expect(parsed.ok).toBe(true);
      if (parsed.ok) expect(parsed.value.evaluate(inputs)).toMatchObject({ ok: true, value: { usd } });
    });
  }

  for (const [source, word] of [
    ['', 'empty'],
    ['1 +', 'cannot be read'],
    ['1; 2', 'after the end'],
    ['globalThis', 'unknown'],
    ['process.env', 'not allowed'],
    ['u("a").constructor', 'not allowed'],
    ['(() => 1)()', 'can be called'],
    ['u("a")("b")', 'can be called'],
    ['u(model)', 'quoted field name'],
    ['eval("1")', 'not a function'],
    ['toString()', 'not a function'],
    ['`${1}`', 'not allowed'],
    ['[1,2]', 'not allowed'],
    ['{a:1}', 'not allowed'],
    ['model = 1', 'not allowed'],
    ['new Date()', 'not allowed'],
    ['1n', 'Use only'],
    ['/a/', 'Use only'],
    ['2 ** 8', 'operator'],
    ['u?.("a")', 'not allowed'],
    [`${'!'.repeat(100)}1`, 'nested'],
    [`${'('.repeat(2000)}1${')'.repeat(2000)}`, 'nested'],
    [`${'('.repeat(4096)}`, 'cannot be read'],
    [`1${'+1'.repeat(100)}`, 'nested'],
    [`1${' '.repeat(5000)}`, 'longer'],
  ] as const) {
    test(`refuses ${source.slice(0, 30) || 'nothing'}`, () => {
      const parsed = parsePriceExpression(source);
      expect(parsed.ok).toBe(false);
      if (!parsed.ok) expect(parsed.error.message).toContain(word);
    });
  }

  for (const [source, steps] of [
    ['0.25', ['0.25 USD']],
    ['0.02 * u("seconds")', ['0.02 * 5 = 0.1 USD']],
    ['0.1 + 0.2', ['0.1 + 0.2 = 0.3 USD']],
    ['(u("seconds") - 1 - (2 - 1)) * 2', ['(5 - 1 - (2 - 1)) * 2 = 6 USD']],
    ['u("seconds") / (2 * 5)', ['5 / (2 * 5) = 0.5 USD']],
    ['max(1, u("seconds") - 2) * 0.1', ['max(1, 5 - 2) * 0.1 = 0.3 USD']],
    [
      '(u("resolution") === "1080p" ? 0.1 : u("tokens")) * u("seconds")',
      ['u("resolution") === "1080p" → true', '0.1 * 5 = 0.5 USD'],
    ],
    [
      'model === "other" ? 1 : u("seconds") > 3 && u("hd") ? 0.5 + 1 : 2',
      ['model === "other" → false', 'u("seconds") > 3 && u("hd") → true', '0.5 + 1 = 1.5 USD'],
    ],
    ['-(-u("seconds"))', ['-(-5) = 5 USD']],
    ['u("seconds") * (u("hd") + 1)', ['5 * (true + 1) = 10 USD']],
  ] as const) {
    test(`${source} is told with its values`, () => {
      const parsed = parsePriceExpression(source);
      if (!parsed.ok) throw new Error(parsed.error.message);
      expect(parsed.value.evaluate(inputs)).toMatchObject({ ok: true, value: { steps: [...steps] } });
    });
  }

  test('log flooding: a text of any length in the facts leaves steps of bounded length', () => {
    const name = 'x'.repeat(100_000);
    const parsed = parsePriceExpression(`${'u("a") === "b" || '.repeat(200)}true ? ${'1 + '.repeat(30)}1 : 2`);
    if (parsed.ok) throw new Error('should be nested too deeply');
    const wide = parsePriceExpression(`max(${Array.from({ length: 200 }, () => 'u("a") === "b"').join(', ')}) + 1`);
    if (!wide.ok) throw new Error(wide.error.message);
    const result = wide.value.evaluate({ facts: { a: name }, model: name, action: name });
    if (!result.ok) throw new Error(result.error.message);
    expect(result.value.usd).toBe(1);
    expect(JSON.stringify(result.value.steps).length).toBeLessThan(1000);
  });

  test('a missing fact is named', () => {
    const parsed = parsePriceExpression('u("tokens") * 2');
    if (!parsed.ok) throw new Error('should parse');
    expect(parsed.value.factKeys).toEqual(['tokens']);
    const result = parsed.value.evaluate(inputs);
    expect(result.ok).toBe(false);
    if (!result.ok) expect(result.error.missingFact).toBe('tokens');
  });

  test('a fact inherited from a prototype does not exist', () => {
    const parsed = parsePriceExpression('u("constructor") ? 1 : 2');
    if (!parsed.ok) throw new Error('should parse');
    expect(parsed.value.evaluate(inputs).ok).toBe(false);
  });

  for (const source of ['1 / 0', '0 / 0', '-1', '"free"', 'u("seconds") - 6']) {
    test(`${source} is not a price`, () => {
      const parsed = parsePriceExpression(source);
      if (!parsed.ok) throw new Error('should parse');
      expect(parsed.value.evaluate(inputs).ok).toBe(false);
    });
  }
});
