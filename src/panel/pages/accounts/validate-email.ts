import type { TextKey } from '../../i18n/texts.ts';

/** Catches slips; which addresses are taken is the server's matter. null: nothing to object to. */
export function validateEmail(address: string): TextKey | null {
  return /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(address) ? null : 'account.emailInvalid';
}
