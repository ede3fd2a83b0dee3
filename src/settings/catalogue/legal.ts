import { longText, type OptionRules } from './option-rule.ts';

const MAX_DOCUMENT = 100_000;

/** What people agree to when they make an account; nothing: they are not asked. */
export const legalOptions = {
  'legal.user_agreement': { proof: 'none', ...longText(MAX_DOCUMENT) },
  'legal.privacy_policy': { proof: 'none', ...longText(MAX_DOCUMENT) },
} satisfies OptionRules;
