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
