import { sentence } from '../../kernel/index.ts';
import { invalidField } from '../errors.ts';
import { rejectHiddenCharacters } from '../users/reject-hidden-characters.ts';

const NAME_MAX = 64;

/**
 * Gives the name without surrounding space.
 *
 * @throws `auth.validation_failed`
 */
export function validatePasskeyName(value: string): string {
  const name = value.trim();
  const length = [...name].length;
  if (length < 1 || length > NAME_MAX) throw invalidField('name', sentence('auth.characters_to', { max: NAME_MAX }));
  return rejectHiddenCharacters('name', name);
}

/** "Passkey 3" for the third, or the next free number. */
export function nextPasskeyName(others: readonly { name: string }[]): string {
  const taken = new Set(others.map(({ name }) => name));
  let number = taken.size + 1;
  while (taken.has(`Passkey ${number}`)) number += 1;
  return `Passkey ${number}`;
}
