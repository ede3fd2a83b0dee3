import { ROLE, STATUS } from '../../store/ports/index.ts';
import type { AuthContext } from '../context.ts';
import { pickLanguage } from './pick-language.ts';
import type { MailContent } from './types.ts';

/** More recipients than a gateway has administrators. */
const MAX_RECIPIENTS = 20;

/** Mails every administrator who has an address; nothing happens while mail is not set up. */
export async function tellAdministrators(
  { store, outbox, settings }: AuthContext,
  content: Extract<MailContent, { kind: 'backup_failed' | 'backup_overdue' | 'channel_failing' }>,
): Promise<void> {
  if (!settings().mail) return;
  for (const role of [ROLE.root, ROLE.admin]) {
    const { items } = await store.users.search({ role, status: STATUS.enabled }, { page: 1, pageSize: MAX_RECIPIENTS });
    for (const { email, language } of items) {
      if (email !== null) outbox.post({ to: email, language: pickLanguage(undefined, language), content });
    }
  }
}
