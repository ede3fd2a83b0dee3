import type { TextKey } from '../i18n/texts.ts';

/**
 * Texts for API error codes on every page; a code that is not here has the text `refusal.CODE`,
 * which is loaded after sign-in. A text may use `{{wait}}` and the API's own `{{message}}`.
 */
export const codeTexts: Readonly<Record<string, TextKey>> = {
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
  AUTH_TASK_VIEW_LIMIT: 'error.taskViewLimit',
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

/** Codes whose message is a vendor's, a plugin's or another server's: nobody can translate it. */
const quoted = /^(VENDOR_|CONTENT_POLICY_VIOLATION$|PLUGIN_(REQUEST_INVALID|USAGE_INVALID|HOOK_FAILED|SUBMIT_))/;

/** Whether the message of this code is shown as it is, in every language. */
export const isQuoted = (code: string): boolean => quoted.test(code);

const ACCESS_DENIED = 'The rules of this gateway do not admit this account of the provider.';

/** Whether the message is what the operator wrote for people whom they do not admit. */
export const isWrittenByOperator = ({
  code,
  message,
  reason,
}: {
  code: string;
  message: string;
  reason?: unknown;
}): boolean => code === 'AUTH_ACCESS_DENIED' && reason === undefined && message !== ACCESS_DENIED;
