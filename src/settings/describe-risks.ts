import type { AuthSettings } from '../auth/index.ts';

/** Options that work together but deserve a word at the start. */
export function describeRisks({ registration, challenge }: AuthSettings): string[] {
  if (!registration.enabled || registration.verifyEmail || challenge) return [];
  return [
    'RegisterEnabled is true with neither TurnstileCheckEnabled nor EmailVerificationEnabled: programs can make accounts without end',
  ];
}
