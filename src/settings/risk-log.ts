import type { AuthSettings } from '../auth/index.ts';
import type { Logger } from '../kernel/index.ts';

/** Logs each risk once while it lasts: at the start, or when a change of options causes it. */
export function createRiskLog(logger: Logger): (settings: AuthSettings) => void {
  let logged = new Set<string>();
  return (settings) => {
    const risks = describeRisks(settings);
    for (const risk of risks) if (!logged.has(risk)) logger.warn({}, risk);
    logged = new Set(risks);
  };
}

/** Combinations of options that work but are unsafe, each as a sentence. */
export function describeRisks({ registration, challenge }: AuthSettings): string[] {
  if (!registration.enabled || registration.verifyEmail || challenge) return [];
  return [
    'RegisterEnabled is true with neither TurnstileCheckEnabled nor EmailVerificationEnabled: programs can create any number of accounts',
  ];
}
