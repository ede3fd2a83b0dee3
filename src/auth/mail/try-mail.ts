import type { MailStep } from '../../upstream/index.ts';
import type { AuthContext } from '../context.ts';
import { requireMailAddress } from './mail-address.ts';
import { pickLanguage } from './pick-language.ts';

/**
 * Sends a test mail now and reports every step in plain sentences without credentials; `undefined`
 * while mail is not set up.
 *
 * @throws `auth.validation_failed` when `to` is not an address.
 */
export async function tryMail(
  { outbox }: AuthContext,
  { to, language }: { to: string; language: string },
): Promise<MailStep[] | undefined> {
  const outcome = await outbox.sendNow({
    to: requireMailAddress(to),
    language: pickLanguage(undefined, language),
    content: { kind: 'test' },
  });
  return outcome?.steps;
}
