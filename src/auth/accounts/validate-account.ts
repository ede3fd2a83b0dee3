import { hasHiddenCharacters, sentence } from '../../kernel/index.ts';
import { invalidField } from '../errors.ts';

/** ASCII letters only: case-insensitive uniqueness must mean the same in both databases. */
const USERNAME = /^[A-Za-z0-9._-]{1,32}$/;
/** `common-passwords.ts` holds no shorter ones. */
const PASSWORD_MIN = 8;
const PASSWORD_MAX = 128;

export const isUsername = (value: string): boolean => USERNAME.test(value);

/**
 * Gives the username without surrounding space.
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
 * username, one repeated character, one of the most used passwords (ASVS 6.2.4).
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

const DISPLAY_NAME_MAX = 64;
const GROUP_MAX = 64;
/** The value is that of new-api. */
const REMARK_MAX = 255;
/** `en`, `zh`, `zh-CN`. */
const LANGUAGE = /^[a-z]{2,3}(-[A-Za-z0-9]{2,8})?$/;

/**
 * These validators give the value without surrounding space. `former` is the stored value, which
 * always passes the check for hidden characters.
 *
 * @throws `auth.validation_failed`
 */
export function validateDisplayName(value: string, former?: string): string {
  return rejectHiddenCharacters(
    'display_name',
    validateLine('display_name', value, { min: 0, max: DISPLAY_NAME_MAX }),
    former,
  );
}

export function validateGroup(value: string, former?: string): string {
  return rejectHiddenCharacters('group', validateLine('group', value, { min: 1, max: GROUP_MAX }), former);
}

/** An administrator's note; it may have several lines. */
export function validateRemark(value: string, former?: string): string {
  const remark = value.trim();
  if ([...remark].length > REMARK_MAX || /[^\P{Cc}\n\r\t]/u.test(remark) || !remark.isWellFormed()) {
    throw invalidField('remark', sentence('auth.characters_max', { max: REMARK_MAX }));
  }
  if (remark !== former) rejectHiddenCharacters('remark', remark.replaceAll(/[\n\r\t]/g, ' '));
  return remark;
}

export function validateLanguage(value: string): string {
  if (!LANGUAGE.test(value)) throw invalidField('language', sentence('auth.language_tag'));
  return value;
}

/** @throws `auth.validation_failed` */
export function validateLine(param: string, value: string, { min, max }: { min: number; max: number }): string {
  const line = value.trim();
  const length = [...line].length;
  if (length < min || length > max || /\p{Cc}/u.test(line) || !line.isWellFormed()) {
    throw invalidField(param, sentence('auth.line_range', { min, max }));
  }
  return line;
}

/**
 * Gives the name back. A name that equals `former`, the stored one, always passes.
 *
 * @throws `auth.validation_failed` for a new name with hidden characters.
 */
export function rejectHiddenCharacters(param: string, name: string, former?: string): string {
  if (name !== former && hasHiddenCharacters(name)) throw invalidField(param, sentence('auth.hidden_characters'));
  return name;
}

/**
 * Whether a password in lower case is one of the most used ones. The list is loaded when the first
 * password is set: a gateway that only serves requests never holds it in memory.
 */
async function isCommonPassword(lowerCase: string): Promise<boolean> {
  const { commonPasswords } = await import('./common-passwords.ts');
  return commonPasswords.has(lowerCase);
}
