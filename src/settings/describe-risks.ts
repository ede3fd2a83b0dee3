import type { AuthSettings } from '../auth/index.ts';

/** Combinations of options that work but are unsafe, each as a sentence. */
export function describeRisks({ registration, challenge }: AuthSettings): string[] {
  if (!registration.enabled || registration.verifyEmail || challenge) return [];
  return [
    'RegisterEnabled is true with neither TurnstileCheckEnabled nor EmailVerificationEnabled: programs can create any number of accounts',
  ];
}
