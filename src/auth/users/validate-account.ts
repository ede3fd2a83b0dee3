import { invalidField } from '../errors.ts';

/** Design 4.3. ASCII letters only: uniqueness ignoring case must mean the same in both databases. */
const USERNAME = /^[A-Za-z0-9._-]{1,32}$/;
const PASSWORD_MIN = 8;
const PASSWORD_MAX = 128;

/** The user name without surrounding space, or a rejection with `auth.validation_failed`. */
export function validateUsername(value: string): string {
  const username = value.trim();
  if (!USERNAME.test(username)) {
    throw invalidField('username', '1 to 32 of the letters a to z, digits and . _ - are allowed.');
  }
  return username;
}

/** Rejects a new password with `auth.validation_failed` unless it has 8 to 128 characters; any characters, spaces too. */
export function validateNewPassword(value: string, param = 'password'): string {
  const length = [...value].length;
  if (length < PASSWORD_MIN || length > PASSWORD_MAX) {
    throw invalidField(param, `${PASSWORD_MIN} to ${PASSWORD_MAX} characters are required.`);
  }
  return value;
}
