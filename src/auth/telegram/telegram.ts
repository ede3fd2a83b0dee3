import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';

/** The provider name of Telegram identities. */
export const TELEGRAM = 'telegram';

/**
 * The bot of the login widget.
 *
 * @throws `auth.method_disabled` while Telegram is off or not set up.
 */
export function requireTelegram({ providers }: AuthSettings): { botName: string; botToken: string } {
  if (!providers.telegram) throw authErrors.method_disabled();
  return providers.telegram;
}
