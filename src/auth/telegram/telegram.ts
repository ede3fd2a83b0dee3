import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';

/** The provider of Telegram's identities. */
export const TELEGRAM = 'telegram';

/**
 * The bot whose widget people use. Rejects with `auth.method_disabled` while Telegram is off or not
 * set up.
 */
export function requireTelegram({ providers }: AuthSettings): { botName: string; botToken: string } {
  if (!providers.telegram) throw authErrors.method_disabled();
  return providers.telegram;
}
