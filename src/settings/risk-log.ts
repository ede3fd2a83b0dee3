import type { AuthSettings } from '../auth/index.ts';
import type { Logger } from '../kernel/index.ts';
import { describeRisks } from './describe-risks.ts';

/** Logs each risk once while it lasts: at the start, or when a change of options causes it. */
export function createRiskLog(logger: Logger): (settings: AuthSettings) => void {
  let logged = new Set<string>();
  return (settings) => {
    const risks = describeRisks(settings);
    for (const risk of risks) if (!logged.has(risk)) logger.warn({}, risk);
    logged = new Set(risks);
  };
}
