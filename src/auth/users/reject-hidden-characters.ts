import { hasHiddenCharacters } from '../../kernel/index.ts';
import { invalidField } from '../errors.ts';
import { authSentences } from '../sentences.ts';

/**
 * Gives the name back. A name that equals `former`, the stored one, always passes.
 *
 * @throws `auth.validation_failed` for a new name with hidden characters.
 */
export function rejectHiddenCharacters(param: string, name: string, former?: string): string {
  if (name !== former && hasHiddenCharacters(name)) throw invalidField(param, authSentences.hidden_characters());
  return name;
}
