import { sentence } from '../../kernel/index.ts';
import { invalidField } from '../errors.ts';
import { isCommonPassword } from '../passwords/common-passwords.ts';

/** ASCII letters only: case-insensitive uniqueness must mean the same in both databases. */
const USERNAME = /^[A-Za-z0-9._-]{1,32}$/;
const PASSWORD_MIN = 8;
const PASSWORD_MAX = 128;

export const isUsername = (value: string): boolean => USERNAME.test(value);

/**
 * Gives the user name without surrounding space.
 *
 * @throws `auth.validation_failed`
 */
export function validateUsername(value: string): string {
  const username = value.trim();
  if (!isUsername(username)) {
    throw invalidField('username', sentence('auth.username'));
  }
  return username;
}

/**
 * Accepts 8 to 128 characters of any kind, spaces included, but not what attackers try first: the
 * user name, one repeated character, one of the most used passwords (ASVS 6.2.4).
 *
 * @throws `auth.validation_failed`
 */
export async function validateNewPassword(password: string, username: string): Promise<void> {
  // Normalised as for hashing, so that a character counts once however a keyboard composes it.
  const composed = password.normalize('NFC');
  const length = [...composed].length;
  if (length < PASSWORD_MIN || length > PASSWORD_MAX) {
    throw invalidField('password', sentence('auth.characters_range', { min: PASSWORD_MIN, max: PASSWORD_MAX }));
  }
  const lowerCase = composed.toLowerCase();
  if (lowerCase === username.toLowerCase()) {
    throw invalidField('password', sentence('auth.password_is_username'));
  }
  if (new Set(lowerCase).size === 1) {
    throw invalidField('password', sentence('auth.password_repeats'));
  }
  if (await isCommonPassword(lowerCase)) {
    throw invalidField('password', sentence('auth.password_common'));
  }
}
