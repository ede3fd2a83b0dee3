import { longText } from '../option-rule.ts';

const MAX_DOCUMENT = 100_000;

/** What people agree to when they make an account; nothing: they are not asked. */
export const legalOptions = {
  'legal.user_agreement': longText(MAX_DOCUMENT),
  'legal.privacy_policy': longText(MAX_DOCUMENT),
};
