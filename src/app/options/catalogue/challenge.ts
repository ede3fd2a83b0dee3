import { boolean, endpoint, identifier, secret } from '../option-rule.ts';

export const challengeOptions = {
  /** Whether people must pass Cloudflare Turnstile where accounts are made or guessed at. */
  TurnstileCheckEnabled: boolean(false),
  TurnstileSiteKey: identifier('the site key of Turnstile'),
  TurnstileSecretKey: secret('the secret key of Turnstile'),
  TurnstileVerifyUrl: endpoint('https://challenges.cloudflare.com/turnstile/v0/siteverify'),
};
