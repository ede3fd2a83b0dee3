import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { QUOTA_PER_USD } from '../../src/kernel/quota.ts';
import { createFormat } from '../../src/panel/ui/display/use-format.ts';
import {
  groupThousands,
  padCents,
  readDecimal,
  toDecimal,
  toDollars,
  toNumber,
  toQuota,
  writeDecimal,
} from '../../src/panel/ui/form/decimal.ts';

const languages = ['en', 'de', 'es', 'ja', 'pt', 'zh'];

/** What each language reads: the decimal, or why it reads none. */
const read = (text: string) =>
  Object.fromEntries(
    languages.map((language) => {
      const reading = readDecimal(text, language);
      return [language, 'fault' in reading ? reading.fault : reading.decimal];
    }),
  );
const everywhere = (value: string) => Object.fromEntries(languages.map((language) => [language, value]));

test.each([
  ['12,5', '12.5'],
  ['12.5', '12.5'],
  ['1.234,50', '1234.5'],
  ['1,234.50', '1234.5'],
  ['1.234.567', '1234567'],
  ['1,234,567.891', '1234567.891'],
  ['1 234,567', '1234.567'],
  ['1\u202f234\u00a0567,8', '1234567.8'],
  ['1’234.50', '1234.5'],
  ['0,125', '0.125'],
  ['1234,567', '1234.567'],
  ['$ 12.50', '12.5'],
  ['12,50 US$', '12.5'],
  ['$1,234.5678', '1234.5678'],
  ['１２．５', '12.5'],
  ['.5', '0.5'],
  ['5,', '5'],
  ['007', '7'],
  ['0.000000000001', '0.000000000001'],
  ['-3', '-3'],
  ['', ''],
  ['$', ''],
])('%p is one number in every language', (text, decimal) => {
  expect(read(text)).toEqual(everywhere(decimal));
});

test('where one mark may separate thousands or decimals, the language decides, and Spanish asks', () => {
  expect(read('1,234')).toEqual({ en: '1234', de: '1.234', es: '1.234', ja: '1234', pt: '1.234', zh: '1234' });
  expect(read('1.234')).toEqual({ en: '1.234', de: '1234', es: 'ambiguous', ja: '1.234', pt: '1234', zh: '1.234' });
  expect(read('12.345')).toEqual({ en: '12.345', de: '12345', es: '12345', ja: '12.345', pt: '12345', zh: '12.345' });
});

test.each(['1,23,456', '1.234.56', '1.234,567.8', '12 34', '1,234.567.890', '1234,567,890', "1'234,567,8"])(
  '%p is refused as ambiguous in every language',
  (text) => {
    expect(read(text)).toEqual(everywhere('ambiguous'));
  },
);

test.each(['ten', '1e5', '0x10', '12€', '1-2', '.', '--1', '∞', '1'.repeat(16), '9'.repeat(50)])(
  '%p is not a number in any language',
  (text) => {
    expect(read(text)).toEqual(everywhere('invalid'));
  },
);

test('what the panel writes, in any of its formats, is read as the same amount of quota', () => {
  const quotas = fc.integer({ min: 0, max: 500_000 * 1_000_000 });
  for (const language of languages) {
    const { exactMoney } = createFormat(language);
    fc.assert(
      fc.property(quotas, (quota) => {
        for (const text of [exactMoney(quota), writeDecimal(toDollars(quota), language)]) {
          const reading = readDecimal(text, language);
          expect('fault' in reading ? text : toQuota(reading.decimal)).toBe(quota);
        }
      }),
    );
    fc.assert(
      fc.property(fc.double({ noNaN: true, min: -1e6, max: 1e6 }), (value) => {
        const decimal = toDecimal(Number(value.toFixed(6)));
        const reading = readDecimal(writeDecimal(decimal, language), language);
        expect('fault' in reading ? null : toNumber(reading.decimal)).toBe(Number(decimal) + 0);
      }),
    );
  }
});

test('a number that is said after a reading in doubt can be read in one way only', () => {
  for (const language of languages) {
    const { exact, exactMoney } = createFormat(language);
    for (const value of [1.234, 1234, 0.5, 12.345]) {
      for (const other of languages) {
        const readings = [exact(value), exactMoney(value * QUOTA_PER_USD)].map((text) => readDecimal(text, other));
        expect(readings[1]).toMatchObject({ decimal: String(value) });
        if (value !== 1234) expect(readings[0]).toMatchObject({ decimal: String(value) });
      }
    }
  }
});

test('thousands are in groups as the language writes them, and what is no such number stays as it is', () => {
  expect(languages.map((language) => groupThousands('100000', language))).toEqual([
    ...['100,000', '100.000', '100.000'],
    ...['100,000', '100.000', '100,000'],
  ]);
  expect(['1234.50', '-2500', '999', '0.0001234', '', 'ten'].map((text) => groupThousands(text, 'en'))).toEqual([
    ...['1,234.50', '-2,500', '999', '0.0001234', '', 'ten'],
  ]);
  expect(groupThousands('1234,5', 'de')).toBe('1.234,5');
  const typed = ['2.5', '0,1', '2', '2.50', '0.026', ''];
  expect(typed.map((text) => padCents(text, 'en'))).toEqual(['2.50', '0,10', '2.00', '2.50', '0.026', '']);
  expect(padCents('2', 'de')).toBe('2,00');
});

test('only a decimal that a form keeps is a number, and less than the smallest unit is not a quota', () => {
  expect(['', '1,5', '1e5', '0x10', ' 1', '1.5'].map(toNumber)).toEqual([null, null, null, null, null, 1.5]);
  expect(['0', '0.000002', '0.0000004', '-1', '12.5'].map(toQuota)).toEqual([0, 1, null, null, 6_250_000]);
});
