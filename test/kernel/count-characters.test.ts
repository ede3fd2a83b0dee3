import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { countCharacters, firstCharacters } from '../../src/kernel/texts.ts';

test('characters are counted and cut as in a list of them, whatever the text has', () => {
  const units = fc.array(fc.constantFrom('a', '漢', '😀', '\ud83d', '\ude00'), { maxLength: 12 });
  fc.assert(
    fc.property(units, fc.nat({ max: 8 }), (parts, most) => {
      const text = parts.join('');
      expect(countCharacters(text)).toBe([...text].length);
      expect(firstCharacters(text, most)).toBe([...text].slice(0, most).join(''));
    }),
  );
});

test('denial of service: a long text is counted in a fraction of the time that its list takes', () => {
  const text = '漢'.repeat(1_400_000);
  const measure = (work: () => number): number => {
    const runs = [1, 2, 3].map(() => {
      const began = performance.now();
      expect(work()).toBe(1_400_000);
      return performance.now() - began;
    });
    return Math.min(...runs);
  };
  expect(measure(() => countCharacters(text))).toBeLessThan(measure(() => [...text].length) / 2);
});
