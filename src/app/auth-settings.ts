import type { AuthConfig, AuthSettings, CleanUpConfig } from '../auth/index.ts';
import type { Config } from './config-variables.ts';
import type { LiveOptions } from './live-options.ts';
import type { Secrets } from './load-secrets.ts';
import { serverAddress } from './public-address.ts';
import { readOption } from './read-option.ts';

/** Specification: a refresh token is valid at most 30 days. */
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
});

export const cleanUpConfig = (config: Config): CleanUpConfig => ({
  sessionIssuanceWindowSeconds: config.sessionIssuanceWindow,
  revokedRetentionDays: config.sessionRevokedRetentionDays,
  hourlyAlertThreshold: config.sessionHourlyAlert,
});

/** The options of the auth room as they stand now. `listening` is where this node itself is reached. */
export const authSettings = (options: LiveOptions, listening: string): AuthSettings => ({
  systemName: options.get('SystemName') ?? 'Taskgate',
  serverAddress: serverAddress(options, listening),
  passkeys: {
    enabled: readOption(options, 'passkey.enabled') === 'true',
    rpDisplayName: readOption(options, 'passkey.rp_display_name').trim(),
    rpId: readOption(options, 'passkey.rp_id'),
    origins: readOption(options, 'passkey.origins')
      .split(',')
      .map((origin) => origin.trim())
      .filter((origin) => origin !== ''),
    allowInsecureOrigin: readOption(options, 'passkey.allow_insecure_origin') === 'true',
    userVerification: oneOf(readOption(options, 'passkey.user_verification'), ['preferred', 'required', 'discouraged']),
    attachment: oneOf(readOption(options, 'passkey.attachment_preference'), ['', 'platform', 'cross-platform']),
  },
  modelRequests: {
    enabled: readOption(options, 'ModelRequestRateLimitEnabled') === 'true',
    windowSeconds: Number(readOption(options, 'ModelRequestRateLimitDurationMinutes')) * 60,
    total: Number(readOption(options, 'ModelRequestRateLimitCount')),
    success: Number(readOption(options, 'ModelRequestRateLimitSuccessCount')),
    groups: readGroupLimits(readOption(options, 'ModelRequestRateLimitGroup')),
  },
});

/** `{"group":[all, successful]}`, already checked. */
function readGroupLimits(text: string): AuthSettings['modelRequests']['groups'] {
  const groups = JSON.parse(text) as Record<string, [total: number, success: number]>;
  return new Map(Object.entries(groups).map(([group, [total, success]]) => [group, { total, success }]));
}

/** `value` if it is one of `choices`, else the first of them. */
const oneOf = <const T extends string>(value: string | undefined, choices: readonly [T, ...T[]]): T =>
  choices.find((choice) => choice === value) ?? choices[0];
