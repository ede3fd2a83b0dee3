import { longText, type OptionRules } from './option-rule.ts';

const MAX_DOCUMENT = 100_000;

/** The texts people agree to when they create an account. Empty: they are not asked. */
export const legalOptions = {
  'legal.user_agreement': { proof: 'none', ...longText(MAX_DOCUMENT) },
  'legal.privacy_policy': { proof: 'none', ...longText(MAX_DOCUMENT) },
} satisfies OptionRules;
