import type { MailStep } from '../../upstream/index.ts';
import { requireMailAddress } from './mail-address.ts';
import type { Outbox } from './outbox.ts';
import { pickLanguage } from './pick-language.ts';

/**
 * Sends a test mail at once and tells every step in plain sentences without credentials;
 * `undefined` while mail is not set up. Rejects with `auth.validation_failed` when `to` is no
 * address.
 */
export type TryMail = (to: string, language: string) => Promise<MailStep[] | undefined>;

export function createTryMail({ outbox }: { outbox: Outbox }): TryMail {
  return async (to, language) =>
    outbox.sendNow({
      to: requireMailAddress(to),
      language: pickLanguage(undefined, language),
      content: { kind: 'test' },
    });
}
