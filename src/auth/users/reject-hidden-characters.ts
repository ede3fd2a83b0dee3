import { hasHiddenCharacters, sentence } from '../../kernel/index.ts';
import { invalidField } from '../errors.ts';

/**
 * Gives the name back. A name that equals `former`, the stored one, always passes.
 *
 * @throws `auth.validation_failed` for a new name with hidden characters.
 */
export function rejectHiddenCharacters(param: string, name: string, former?: string): string {
  if (name !== former && hasHiddenCharacters(name)) throw invalidField(param, sentence('auth.hidden_characters'));
  return name;
}
