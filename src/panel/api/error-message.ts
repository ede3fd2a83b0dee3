import type { TFunction } from 'i18next';
import type { TextKey } from '../i18n/texts.ts';
import { ApiError, type FieldError, UserError } from './api-error.ts';
import { translateOrQuote, translateSentence } from './translate-sentence.ts';

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
  return withoutEmptyEnd(t('error.unknown', values));
}

type CodeMessageInput = {
  error: ApiError;
  t: TFunction;
  language: string;
  /** Texts of this page that replace the general ones. */
  overrides?: Readonly<Record<string, TextKey>> | undefined;
};

/**
 * The text for an error: this page's, else that of the very sentence that the gateway said, else
 * that of its code. Null when no text is known for it.
 */
export function codeMessage({ error, t, language, overrides = {} }: CodeMessageInput): string | null {
  const override = overrides[error.code];
  if (override !== undefined) return t(override, messageValues(error, t, language));
  if (isWrittenByOperator(error)) return error.message;
  const known = codeTexts[error.code];
  const said = translateSentence(error, t);
  if (said !== null) return said;
  if (known !== undefined) return withoutEmptyEnd(t(known, messageValues(error, t, language)));
  const key = `refusal.${error.code}`;
  if (!hasText(key, t)) return null;
  // The API's English is more exact than the text of a code.
  if (language === 'en' && error.status < 500) return error.message;
  return withoutEmptyEnd(t(key as TextKey, messageValues(error, t, language)));
}

/** The text for what is wrong with one field. */
export function fieldMessage({ message, reason, params, rule }: FieldError, t: TFunction, language: string): string {
  const said = translateSentence({ message, reason, params }, t);
  if (said !== null) return said;
  // The API's own sentence is English, and more exact than the texts below.
  if (language === 'en') return message;
  if (rule === 'required') return t('error.field.required');
  return rule === 'unknown_field' ? t('error.field.unknown') : t('error.field.wrong');
}

/** i18next answers with the key where it has no text. */
const hasText = (key: string, t: TFunction): boolean => (t as (key: string) => string)(key) !== key;

const messageValues = (error: ApiError, t: TFunction, language: string) => ({
  wait: formatWait(error.retryAfter, t, language),
  message: chooseMessage(error, t, language),
});

/**
 * The API's own sentence, where its reader understands it or nobody could translate it; else what
 * is wrong with the first field.
 */
function chooseMessage(error: ApiError, t: TFunction, language: string): string {
  if (isQuoted(error.code)) return translateOrQuote(error, t);
  if (language === 'en') return error.message;
  const [first] = error.fieldErrors;
  return first === undefined ? '' : `${first[0]}: ${fieldMessage(first[1], t, language)}`;
}

/** "The gateway rejected this: " has a colon that nothing follows where there is no message. */
const withoutEmptyEnd = (text: string): string => text.trim().replace(/[:：]$/, '');

function formatWait(seconds: number | null, t: TFunction, language: string): string {
  if (seconds === null || seconds === 0) return t('wait.moment');
  const inMinutes = seconds >= 90;
  return new Intl.NumberFormat(language, {
    style: 'unit',
    unit: inMinutes ? 'minute' : 'second',
    unitDisplay: 'long',
  }).format(inMinutes ? Math.ceil(seconds / 60) : seconds);
}

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
const isQuoted = (code: string): boolean => quoted.test(code);

const ACCESS_DENIED = 'The rules of this gateway do not admit this account of the provider.';

/** Whether the message is what the operator wrote for people whom they do not admit. */
const isWrittenByOperator = ({ code, message, reason }: { code: string; message: string; reason?: unknown }): boolean =>
  code === 'AUTH_ACCESS_DENIED' && reason === undefined && message !== ACCESS_DENIED;
