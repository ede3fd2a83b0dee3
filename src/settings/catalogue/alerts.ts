import { boolean, endpoint, integer, type OptionRules, secret } from './option-rule.ts';

/** As Standard Webhooks writes secrets: 24 to 64 bytes in base64. */
const SIGNING_SECRET = /^whsec_[A-Za-z0-9+/]{32,86}={0,2}$/;

const signingSecret = () => {
  const rule = secret('the secret that signs webhooks');
  return {
    ...rule,
    check: (value: string) =>
      rule.check(value) ??
      (value === '' || SIGNING_SECRET.test(value) ? undefined : 'whsec_ and 24 to 64 bytes in base64, or nothing'),
  };
};

export const alertOptions = {
  /** Whether administrators are mailed when a channel begins to fail. */
  'alerts.failing_channels': { proof: 'none', ...boolean(true) },
  /** Whether users may be warned of a low balance. */
  'alerts.low_balance': { proof: 'none', ...boolean(true) },
  /** The threshold of users who chose none, in quota; 0: they are not warned. */
  'alerts.low_balance_default': { proof: 'none', ...integer(0, 0, 999_999_999_999_999) },
  /** Where the operator's webhooks go. */
  'alerts.webhook_url': { proof: 'settings.security', ...endpoint('') },
  'alerts.webhook_secret': { proof: 'settings.security', ...signingSecret() },
  /** Whether balance.low of users goes there too. */
  'alerts.webhook_balances': { proof: 'none', ...boolean(false) },
} satisfies OptionRules;
