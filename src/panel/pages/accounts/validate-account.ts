import type { TFunction } from 'i18next';
import { ApiError } from '../../api/api-error.ts';
import { fieldMessage } from '../../api/error-message.ts';
import type { TextKey } from '../../i18n/texts.ts';

/** The server's rules for names and passwords, checked before sending. null if valid. */
export function validateUsername(username: string): TextKey | null {
  return /^[A-Za-z0-9._-]{1,32}$/.test(username) ? null : 'setup.usernameInvalid';
}

export function validatePassword(password: string): TextKey | null {
  const length = [...password].length;
  if (length < 8) return 'setup.passwordTooShort';
  return length > 128 ? 'setup.passwordTooLong' : null;
}

/** Catches typing errors; the server checks which addresses are taken. null if valid. */
export function validateEmail(address: string): TextKey | null {
  return /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(address) ? null : 'account.emailInvalid';
}

/** Errors about one field whose answer does not name it. */
const fieldOfCode: Readonly<Record<string, { field: string; text: TextKey }>> = {
  NAME_TAKEN: { field: 'username', text: 'signUp.nameTaken' },
  AUTH_IDENTITY_TAKEN: { field: 'email', text: 'signUp.emailTaken' },
  AUTH_CODE_INVALID: { field: 'verification_code', text: 'signUp.codeWrong' },
};

type Translation = { t: TFunction; language: string };

/** The server's error for one field as a text to show below it; null if there is none. */
export function fieldErrorText(error: unknown, field: string, { t, language }: Translation): string | null {
  if (!(error instanceof ApiError)) return null;
  const codeField = fieldOfCode[error.code];
  if (codeField?.field === field) return t(codeField.text);
  const fieldError = error.fieldErrors.get(field);
  return fieldError === undefined ? null : fieldMessage(fieldError, t, language);
}
