import type { TFunction } from 'i18next';
import type { TextKey } from '../i18n/texts.ts';
import { ApiError } from './api-error.ts';
import { UserError } from './user-error.ts';

/**
 * Texts for API error codes on every page. A text may use `{{wait}}` and the API's own
 * `{{message}}`.
 */
const codeTexts: Readonly<Record<string, TextKey>> = {
  AUTH_INVALID_CREDENTIALS: 'error.credentials',
  AUTH_TOO_MANY_ATTEMPTS: 'error.attempts',
  AUTH_PASSWORD_INVALID: 'error.password',
  AUTH_CHALLENGE_FAILED: 'error.challenge',
  AUTH_CODE_INVALID: 'error.code',
  AUTH_CODE_LOCKED: 'error.codeLocked',
  AUTH_TWO_FACTOR_UNREADABLE: 'error.twoFactorUnreadable',
  AUTH_PASSKEY_INVALID: 'error.passkey',
  AUTH_PASSKEY_TAKEN: 'passkey.known',
  AUTH_PASSKEY_LIMIT: 'error.passkeyLimit',
  AUTH_CHANGED_MEANWHILE: 'error.changedMeanwhile',
  AUTH_FLOW_INVALID: 'error.flow',
  AUTH_SESSION_LIMIT: 'error.sessionLimit',
  AUTH_SESSION_ISSUANCE_LIMIT: 'error.issuanceLimit',
  AUTH_METHOD_DISABLED: 'error.methodDisabled',
  AUTH_PROVIDER_FAILED: 'error.provider',
  AUTH_REGISTRATION_DISABLED: 'error.registrationDisabled',
  AUTH_IDENTITY_TAKEN: 'error.identityTaken',
  AUTH_LAST_WAY_IN: 'error.lastWayIn',
  AUTH_ROOT_PROTECTED: 'error.rootProtected',
  AUTH_USER_DISABLED: 'error.userDisabled',
  AUTH_SETUP_TOKEN_INVALID: 'error.setupToken',
  AUTH_USER_NOT_FOUND: 'error.accountGone',
  CHANNEL_NOT_FOUND: 'error.channelGone',
  NAME_TAKEN: 'signUp.nameTaken',
  MODEL_NOT_FOUND: 'error.channelNone',
  NO_AVAILABLE_CHANNEL: 'error.channelNone',
  PLUGIN_MARKET_FAILED: 'error.marketFailed',
  PLUGIN_SUBMIT_RESPONSE_FAILED: 'error.vendorAnswer',
  PLUGIN_SUBMIT_RESPONSE_INVALID: 'error.vendorAnswer',
  PLUGIN_UNAVAILABLE: 'error.pluginUnavailable',
  SECURITY_PROOF_REQUIRED: 'error.proof',
  SECURITY_PROOF_EXPIRED: 'error.proof',
  SECURITY_PROOF_INVALID: 'error.proof',
  SECURITY_PROOF_METHOD_MISMATCH: 'error.proof',
  SECURITY_PROOF_SCOPE_MISMATCH: 'error.proof',
  SUBMISSION_INTERRUPTED: 'error.submissionInterrupted',
  SUBMISSION_UNRECORDED: 'error.submissionUnrecorded',
  VALIDATION_FAILED: 'error.validation',
  VENDOR_BUSY: 'error.vendorBusy',
  VENDOR_FAILED: 'error.vendorFailed',
  VENDOR_REJECTED: 'error.vendorFailed',
  VENDOR_TIMEOUT: 'error.vendorTimeout',
  VENDOR_UNREACHABLE: 'error.vendorUnreachable',
};

/** Says what went wrong and what to do, in the user's language. */
export function errorMessage(error: unknown, t: TFunction, language: string): string {
  if (error instanceof UserError) return t(error.text);
  if (!(error instanceof ApiError)) return t('error.unavailable');
  const meaning = codeMessage({ error, t, language });
  if (meaning !== null) return meaning;
  const values = messageValues(error, t, language);
  if (error.status === 0) return t('error.unreachable');
  if (error.status === 429) return t('error.limited', values);
  if (error.status >= 500 || error.code === 'UNREADABLE') return t('error.unavailable');
  return t('error.unknown', values);
}

type CodeMessageInput = {
  error: ApiError;
  t: TFunction;
  language: string;
  /** Texts of this page that replace the general ones. */
  overrides?: Readonly<Record<string, TextKey>> | undefined;
};

/** The text for an error's code; null when no text is known for it. */
export function codeMessage({ error, t, language, overrides = {} }: CodeMessageInput): string | null {
  const meaning = overrides[error.code] ?? codeTexts[error.code];
  return meaning === undefined ? null : t(meaning, messageValues(error, t, language));
}

const messageValues = (error: ApiError, t: TFunction, language: string) => ({
  wait: formatWait(error.retryAfter, t, language),
  message: error.message,
});

function formatWait(seconds: number | null, t: TFunction, language: string): string {
  if (seconds === null || seconds === 0) return t('wait.moment');
  const inMinutes = seconds >= 90;
  return new Intl.NumberFormat(language, {
    style: 'unit',
    unit: inMinutes ? 'minute' : 'second',
    unitDisplay: 'long',
  }).format(inMinutes ? Math.ceil(seconds / 60) : seconds);
}
