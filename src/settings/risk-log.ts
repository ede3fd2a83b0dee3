import type { AuthSettings } from '../auth/index.ts';
import type { Logger } from '../kernel/index.ts';
import { describeRisks } from './describe-risks.ts';

/** Warns of each risk once while it lasts: at the start, and when a change of options brings it. */
export function createRiskLog(logger: Logger): (settings: AuthSettings) => void {
  let known = new Set<string>();
  return (settings) => {
    const risks = describeRisks(settings);
    for (const risk of risks) if (!known.has(risk)) logger.warn({}, risk);
    known = new Set(risks);
  };
}
