import type { TFunction } from 'i18next';
import { ApiError } from './api-error.ts';

/** What went wrong, in the reader's language, with what he can do about it. */
export function describeError(error: unknown, t: TFunction, language: string): string {
  if (!(error instanceof ApiError)) return t('error.unavailable');
  const wait = formatWait(error.retryAfter, t, language);
  switch (error.code) {
    case 'AUTH_INVALID_CREDENTIALS':
      return t('error.credentials');
    case 'AUTH_TOO_MANY_ATTEMPTS':
      return t('error.attempts', { wait });
    case 'AUTH_CODE_INVALID':
      return t('error.code');
    case 'AUTH_CODE_LOCKED':
      return t('error.codeLocked', { wait });
    case 'AUTH_FLOW_INVALID':
      return t('error.flow');
    case 'AUTH_SESSION_LIMIT':
      return t('error.sessionLimit');
    case 'AUTH_SESSION_ISSUANCE_LIMIT':
      return t('error.issuanceLimit', { wait });
    case 'AUTH_METHOD_DISABLED':
      return t('error.methodDisabled');
    case 'AUTH_PROVIDER_FAILED':
      return t('error.provider', { message: error.message });
    case 'AUTH_REGISTRATION_DISABLED':
      return t('error.registrationDisabled');
    case 'AUTH_IDENTITY_TAKEN':
      return t('error.identityTaken');
    case 'AUTH_LAST_WAY_IN':
      return t('error.lastWayIn');
    case 'AUTH_USER_DISABLED':
      return t('error.userDisabled');
    case 'AUTH_SETUP_TOKEN_INVALID':
      return t('error.setupToken');
    case 'VALIDATION_FAILED':
      return t('error.validation', { message: error.message });
  }
  if (error.status === 0) return t('error.unreachable');
  if (error.status === 429) return t('error.limited', { wait });
  if (error.status >= 500 || error.code === 'UNREADABLE') return t('error.unavailable');
  return t('error.unknown', { message: error.message });
}

function formatWait(seconds: number | null, t: TFunction, language: string): string {
  if (seconds === null || seconds === 0) return t('wait.moment');
  const inMinutes = seconds >= 90;
  return new Intl.NumberFormat(language, {
    style: 'unit',
    unit: inMinutes ? 'minute' : 'second',
    unitDisplay: 'long',
  }).format(inMinutes ? Math.ceil(seconds / 60) : seconds);
}
