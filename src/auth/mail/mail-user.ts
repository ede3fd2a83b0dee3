import { type Repositories, ROLE, STATUS, type WebhookRecord } from '../../store/ports/index.ts';
import type { AuthContext } from '../context.ts';
import { pickLanguage } from './pick-language.ts';
import type { StoredMail } from './types.ts';

/** A mail that waits in the database; `payload` is a `StoredMail`. */
export type StoredNotice = Pick<WebhookRecord, 'eventId' | 'userId' | 'payload'>;

/** More recipients than a gateway has administrators. */
const MAX_RECIPIENTS = 20;

/** The administrators who can be mailed; none while mail is not set up. */
export async function findMailedAdministrators(
  { settings }: AuthContext,
  { users }: Pick<Repositories, 'users'>,
): Promise<number[]> {
  if (!settings().mail) return [];
  const found: number[] = [];
  for (const role of [ROLE.root, ROLE.admin]) {
    const { items } = await users.search({ role, status: STATUS.enabled }, { page: 1, pageSize: MAX_RECIPIENTS });
    found.push(...items.filter(({ email }) => email !== null).map(({ id }) => id));
  }
  return found;
}

/**
 * Mails a stored notice to its user, at the address and in the language of that moment. `refused`:
 * it would fail again. `failed`: the mail server could not be reached, or asks to wait.
 */
export async function mailUser(
  { store, outbox }: AuthContext,
  { eventId, userId, payload }: StoredNotice,
): Promise<'sent' | 'refused' | 'failed'> {
  const user = await store.users.byId(userId);
  if (!user?.email || user.status !== STATUS.enabled) return 'refused';
  const outcome = await outbox.sendNow({
    ...{ id: eventId, to: user.email, language: pickLanguage(undefined, user.language) },
    // Only stored mails are queued.
    content: payload as StoredMail,
  });
  if (!outcome || outcome.failure?.permanent) return 'refused';
  return outcome.failure ? 'failed' : 'sent';
}
