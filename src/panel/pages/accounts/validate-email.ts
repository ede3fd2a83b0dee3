import type { TextKey } from '../../i18n/texts.ts';

/** Catches typing errors; the server checks which addresses are taken. null if valid. */
export function validateEmail(address: string): TextKey | null {
  return /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(address) ? null : 'account.emailInvalid';
}
