import type { AuthConfig } from '../auth/index.ts';
import type { Config } from './config-variables.ts';
import type { Secrets } from './load-secrets.ts';

/** Specification: a refresh token is valid at most 30 days. */
const REFRESH_DAYS = 30;

export const authConfig = (config: Config, secrets: Secrets): AuthConfig => ({
  sessionSecrets: secrets.session,
  refreshDays: REFRESH_DAYS,
  activeSessionLimit: config.sessionActiveLimit,
  sessionIssuanceLimit: config.sessionIssuanceLimit,
  sessionIssuanceWindowSeconds: config.sessionIssuanceWindow,
  criticalLimit: config.criticalLimit,
  criticalLimitSeconds: config.criticalLimitSeconds,
});
