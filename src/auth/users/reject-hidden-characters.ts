import { HIDDEN_CHARACTERS_RULE, hasHiddenCharacters } from '../../kernel/index.ts';
import { invalidField } from '../errors.ts';

/**
 * Rejects a new name that hides something with `auth.validation_failed`. One that is stored already
 * may stay.
 */
export function rejectHiddenCharacters(param: string, name: string, former?: string): string {
  if (name !== former && hasHiddenCharacters(name)) throw invalidField(param, HIDDEN_CHARACTERS_RULE);
  return name;
}
