import type { AuthSettings } from '../auth/index.ts';
import { type Logger, type Sentence, sentence } from '../kernel/index.ts';

/** What is unsafe or odd about a setting: an option, or a variable of the environment. */
export type SettingWarning = Sentence & {
  readonly setting: string;
  /** Doubtful: it has no effect, or not the one that its name promises. */
  readonly code: 'setting_unsafe' | 'setting_doubtful';
};

/** Logs each risk once while it lasts: at the start, or when a change of options causes it. */
export function createRiskLog(logger: Logger): (settings: AuthSettings) => void {
  let logged = new Set<string>();
  return (settings) => {
    const risks = describeRisks(settings).map(({ message }) => message);
    for (const risk of risks) if (!logged.has(risk)) logger.warn({}, risk);
    logged = new Set(risks);
  };
}

/** Combinations of options that work but are unsafe. */
export function describeRisks({ registration, challenge }: AuthSettings): SettingWarning[] {
  if (!registration.enabled || registration.verifyEmail || challenge) return [];
  const risk = registration.quotaForNewUser > 0 ? 'registration_open_funded' : 'registration_open';
  return [{ setting: 'RegisterEnabled', code: 'setting_unsafe', ...sentence(`settings.${risk}`) }];
}
