import type { AuthConfig, CleanUpConfig } from '../../auth/index.ts';
import { createCallbackUrls } from '../../notifications/index.ts';
import type { Secrets } from '../../operations/secrets/load-secrets.ts';
import type { Config } from './config-variables.ts';

/** A refresh token is valid at most 30 days, as in new-api. */
const REFRESH_DAYS = 30;

export const authConfig = (config: Config, secrets: Secrets): AuthConfig => ({
  sessionSecrets: secrets.session,
  cryptoSecrets: secrets.crypto,
  refreshDays: REFRESH_DAYS,
  activeSessionLimit: config.sessionActiveLimit,
  sessionIssuanceLimit: config.sessionIssuanceLimit,
  sessionIssuanceWindowSeconds: config.sessionIssuanceWindow,
  sessionIdleSeconds: config.sessionIdleMinutes * 60,
  criticalLimit: config.criticalLimit,
  criticalLimitSeconds: config.criticalLimitSeconds,
  apiLimit: config.apiLimit,
  apiLimitSeconds: config.apiLimitSeconds,
  checkWebhookUrl: createCallbackUrls(config.webhookAllowedHosts).check,
});

export const cleanUpConfig = (config: Config): CleanUpConfig => ({
  sessionIssuanceWindowSeconds: config.sessionIssuanceWindow,
  revokedRetentionDays: config.sessionRevokedRetentionDays,
  auditSignInDays: config.auditSignInDays,
});
