import { boolean, endpoint, identifier, type OptionRules, secret } from './option-rule.ts';

export const challengeOptions = {
  /** Whether people must pass Cloudflare Turnstile to register, sign in or reset a password. */
  TurnstileCheckEnabled: { proof: 'settings.security', ...boolean(false) },
  TurnstileSiteKey: { proof: 'settings.security', ...identifier('the site key of Turnstile') },
  TurnstileSecretKey: { proof: 'settings.security', ...secret('the secret key of Turnstile') },
  TurnstileVerifyUrl: {
    proof: 'settings.security',
    ...endpoint('https://challenges.cloudflare.com/turnstile/v0/siteverify'),
  },
} satisfies OptionRules;
