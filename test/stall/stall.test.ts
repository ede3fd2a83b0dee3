import { afterAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { IS_FULL_RUN, testInFullRun } from '../support/full-run.ts';
import { addressCases } from './cases/addresses.ts';
import { bodyCases } from './cases/bodies.ts';
import { headerCases } from './cases/headers.ts';
import { hookCases } from './cases/hooks.ts';
import { imageCases } from './cases/images.ts';
import { pluginCases } from './cases/plugins.ts';
import { settingCases } from './cases/settings.ts';
import { vendorAnswerCases } from './cases/vendor-answers.ts';
import { longestBlock, MAX_BLOCK_MS, type StallCase } from './measure-block.ts';

const cases: readonly StallCase[] = [
  ...addressCases,
  ...bodyCases,
  ...headerCases,
  ...hookCases,
  ...imageCases,
  ...pluginCases,
  ...settingCases,
  ...vendorAnswerCases,
];

/** Inputs that fast-check generates for each parser; more find more, and take longer. */
const MIXES = 10;
/** An input of this many times the limit must be refused without being parsed. */
const BEYOND = 8;
/** Inputs have the same names in every size. */
const ANY_SIZE = 1000;

async function answer(row: StallCase, input: unknown): Promise<unknown> {
  try {
    return await row.call(input);
  } catch (error) {
    return error;
  }
}

describe.each(cases.map((row): [string, StallCase] => [row.name, row]))('%s', (_name, row) => {
  // Made once for all tests of the row: some take longer to make than to read.
  let inputs: Record<string, unknown> | undefined;
  const worstInputs = () => {
    inputs ??= row.worst(row.limit);
    return inputs;
  };
  afterAll(() => {
    inputs = undefined;
  });

  const kinds = Object.keys(row.worst(Math.min(row.limit, ANY_SIZE)));
  testInFullRun.each(kinds)('%s, at the limit', async (kind) => {
    expect(await longestBlock(() => row.call(worstInputs()[kind]))).toBeLessThanOrEqual(MAX_BLOCK_MS);
  });

  testInFullRun('pieces of the worst inputs in any order', async () => {
    expect(Object.keys(worstInputs())).toEqual(kinds);
    const texts = Object.values(worstInputs()).filter((input) => typeof input === 'string');
    if (texts.length === 0) return;
    const piece = fc.tuple(fc.constantFrom(...texts), fc.nat(64), fc.integer({ min: 1, max: 64 }));
    const mixes = fc.sample(fc.array(piece, { minLength: 1, maxLength: 4 }), { numRuns: MIXES, seed: 1 });
    for (const mix of mixes) {
      const units = mix.map(([text, start, length]) => text.slice(start, start + length));
      const each = Math.ceil(row.limit / units.length);
      const input = units.map((unit) => unit.repeat(Math.ceil(each / (unit.length || 1)))).join('');
      const block = await longestBlock(() => row.call(input.slice(0, row.limit)));
      expect({ units, slow: block > MAX_BLOCK_MS }).toEqual({ units, slow: false });
    }
  });

  test('what is beyond the limit is refused without being parsed', async () => {
    if (row.refuses === undefined) return expect(row.limitedBy).toBeString();
    for (const [kind, input] of Object.entries(row.worst(row.limit * BEYOND))) {
      let given: unknown;
      const block = await longestBlock(async () => {
        given = await answer(row, input);
      });
      expect([kind, row.refuses(given)]).toEqual([kind, true]);
      // Without being parsed is without time, which the full run measures.
      if (IS_FULL_RUN) expect({ kind, slow: block > MAX_BLOCK_MS }).toEqual({ kind, slow: false });
    }
  });
});

testInFullRun('a call that blocks the loop is detected, and one that yields is not', async () => {
  const work = (ms: number) => {
    const { user, system } = process.threadCpuUsage();
    const used = () => {
      const now = process.threadCpuUsage();
      return (now.user - user + now.system - system) / 1000;
    };
    while (used() < ms);
  };
  expect(await longestBlock(() => work(4 * MAX_BLOCK_MS))).toBeGreaterThan(MAX_BLOCK_MS);
  const inTurns = async () => {
    for (let turn = 0; turn < 8; turn += 1) {
      work(MAX_BLOCK_MS / 4);
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  expect(await longestBlock(inTurns)).toBeLessThanOrEqual(MAX_BLOCK_MS);
});
