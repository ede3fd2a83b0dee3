/** The forms of the options agree with the gateway, which alone refuses. */
import { expect, test } from 'bun:test';
import { createSecretBox } from '../../src/kernel/index.ts';
import type { Option } from '../../src/panel/api/types.ts';
import { isIdle } from '../../src/panel/pages/settings/option-conditions.ts';
import { moneyOptions, optionUnits, zeroTexts } from '../../src/panel/pages/settings/option-units.ts';
import { isOptionKey, OPTION_KEYS, ruleFor } from '../../src/settings/catalogue/option-catalogue.ts';
import { readOptions } from '../../src/settings/read-options.ts';
import { FEATURES, type Feature, missingFor } from '../../src/settings/requirements.ts';

const toOption = (key: string): Option => ({ key }) as Option;
const empty = readOptions([], createSecretBox(['crypto-secret-of-the-tests']));

/** The gateway alone says what these need: mail has a group of its own, and the list a default. */
const ELSEWHERE: readonly Feature[] = ['EmailVerificationEnabled', 'EmailDomainRestrictionEnabled'];

test.each(FEATURES.filter((feature) => !ELSEWHERE.includes(feature)))(
  '%s can be switched on once all is set that the gateway requires',
  (feature) => {
    const needed = missingFor(feature, empty);
    const isIdleWith = (set: readonly string[]): boolean =>
      isIdle(toOption(feature), OPTION_KEYS.map(toOption), { valueFor: ({ key }) => (set.includes(key) ? 'set' : '') });
    expect(isIdleWith(needed)).toBe(false);
    for (const missing of needed) expect(isIdleWith(needed.filter((key) => key !== missing))).toBe(true);
  },
);

test('units, amounts and names of zero belong to integers', () => {
  const keys = [...Object.keys(optionUnits), ...moneyOptions, ...Object.keys(zeroTexts)];
  expect(keys.filter((key) => !isOptionKey(key) || ruleFor(key).type !== 'integer')).toEqual([]);
});
