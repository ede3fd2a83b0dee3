import { isObject, parseJson } from '../../kernel/index.ts';
import { choice, json, type OptionRules } from './option-rule.ts';

const isRatio = (value: unknown): boolean => typeof value === 'number' && Number.isFinite(value) && value >= 0;

export const billingOptions = {
  /** Who may use models without a price. */
  'billing.unpriced': { proof: 'none', ...choice(['admins', 'everyone', 'nobody'], 'admins, everyone or nobody') },
  /** Group name to price ratio. */
  groups: {
    proof: 'none',
    ...json('{"default":1}', (value) => {
      const groups = parseJson(value);
      const valid =
        isObject(groups) &&
        Object.entries(groups).every(([name, ratio]) => /^[\w.-]{1,64}$/.test(name) && isRatio(ratio));
      return valid ? undefined : 'a JSON object of group names (letters, digits, . _ -) to ratios of at least 0';
    }),
  },
} satisfies OptionRules;
