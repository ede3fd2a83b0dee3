import { sentence } from '../../kernel/index.ts';
import { invalidField } from '../errors.ts';
import { rejectHiddenCharacters } from './reject-hidden-characters.ts';

const DISPLAY_NAME_MAX = 64;
const GROUP_MAX = 64;
/** As in new-api. */
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
export function validateRemark(value: string): string {
  const remark = value.trim();
  if ([...remark].length > REMARK_MAX || /[^\P{Cc}\n\r\t]/u.test(remark) || !remark.isWellFormed()) {
    throw invalidField('remark', sentence('auth.characters_max', { max: REMARK_MAX }));
  }
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
