import { type Clock, jitter, type Logger } from '../../kernel/index.ts';
import { type Repositories, ROLE, STATUS, type Store, type WebhookRecord } from '../../store/ports/index.ts';
import type { MailFailure, MailOutcome, MailStep, SendMail } from '../../upstream/index.ts';
import type { AuthSettings } from '../config.ts';
import { createBoundedSemaphore } from '../limits/limit-guesses.ts';
import { composeMail } from './compose-mail.ts';
import { requireMailAddress } from './mail-address.ts';
import { type MailLanguage, pickLanguage } from './mail-languages.ts';
import type { MailContent, StoredMail } from './types.ts';

/** An email to one person. Never stored: codes and links stay in memory until they are sent. */
export type OutgoingMail = { to: string; language: MailLanguage; content: MailContent; id?: string };

/**
 * Sends emails in the background, after the request that caused them was answered. Neither status,
 * body nor timing of an answer reveals whether an email was sent.
 */
export interface MailQueue {
  /**
   * Queues an email without waiting or failing. Drops it without mail settings and while stopping.
   */
  post(mail: OutgoingMail): void;
  /** Sends an email now, once, and reports every step. `undefined` without mail settings. */
  sendNow(mail: OutgoingMail): Promise<MailOutcome | undefined>;
  /** Accepts no more emails, waits at most `graceMs` for queued ones and drops the rest. */
  stop(graceMs: number): Promise<void>;
}

/** Concurrent connections to the mail server. */
const CONNECTIONS = 4;
/**
 * More than a node ever queues while the mail server works. Beyond it emails are dropped instead of
 * filling the memory.
 */
const MAX_QUEUED = 1000;
/** Pauses before the second and the third try. */
const RETRY_PAUSES_MS = [2000, 10_000];
/**
 * Average delay before the first try, spread from half of it to one and a half: the work of sending
 * must not show in the timing of the next answers.
 */
const FIRST_DELAY_MS = 200;

export function createMailQueue(deps: {
  sendMail: SendMail;
  settings: () => AuthSettings;
  clock: Clock;
  logger: Logger;
}): MailQueue {
  const { sendMail, settings, clock, logger } = deps;
  const semaphore = createBoundedSemaphore(CONNECTIONS, MAX_QUEUED);
  const stopping = new AbortController();
  const graceOver = new AbortController();
  const pending = new Set<Promise<void>>();

  /** One connection, under the present settings. */
  async function send({ to, language, content, ...named }: OutgoingMail): Promise<MailOutcome | undefined> {
    const { mail, ...names } = settings();
    return mail && sendMail(mail, { from: mail.from, to, ...named, ...composeMail(content, language, names) });
  }

  async function attempt(mail: OutgoingMail): Promise<Failure | undefined> {
    if (graceOver.signal.aborted) return { step: 'stop', permanent: true };
    const outcome = await send(mail);
    return outcome ? outcome.failure : { step: 'settings', permanent: true };
  }

  async function deliver(mail: OutgoingMail): Promise<void> {
    await clock.sleep(jitter(FIRST_DELAY_MS, 0.5), stopping.signal);
    for (let tries = 1; ; tries += 1) {
      const failure = await semaphore(() => attempt(mail));
      if (!failure) return;
      const pause = RETRY_PAUSES_MS[tries - 1];
      if (failure.permanent || pause === undefined || stopping.signal.aborted) {
        // Logs only why the email was sent: no address, no code, and none of the server's text,
        // which may repeat them.
        const { step, reply } = failure;
        logger.error({ mail: mail.content.kind, tries, step, reply }, 'an email could not be sent and was dropped');
        return;
      }
      await clock.sleep(pause, stopping.signal);
    }
  }

  return {
    post(mail) {
      const { kind } = mail.content;
      if (stopping.signal.aborted || pending.size >= MAX_QUEUED) {
        logger.error(
          { mail: kind, waiting: pending.size },
          'an email was dropped: the queue is full or the node is stopping',
        );
        return;
      }
      const delivery = deliver(mail)
        .catch((error) => logger.error({ err: error, mail: kind }, 'an email was dropped by an unexpected error'))
        .finally(() => pending.delete(delivery));
      pending.add(delivery);
    },

    sendNow: send,

    async stop(graceMs) {
      stopping.abort();
      const finished = new AbortController();
      const all = Promise.all(pending).then(() => finished.abort());
      await Promise.race([all, clock.sleep(graceMs, finished.signal)]);
      graceOver.abort();
    },
  };
}

type Failure = Pick<MailFailure, 'permanent'> & { step: string; reply?: number };

/**
 * Sends a test email now and reports every step in plain sentences without credentials; `undefined`
 * while mail is not set up.
 *
 * @throws `auth.validation_failed` when `to` is not an address.
 */
export async function tryMail(
  { mailQueue }: { mailQueue: MailQueue },
  { to, language }: { to: string; language: string },
): Promise<MailStep[] | undefined> {
  const outcome = await mailQueue.sendNow({
    to: requireMailAddress(to),
    language: pickLanguage(undefined, language),
    content: { kind: 'test' },
  });
  return outcome?.steps;
}

/** An email that waits in the database; `payload` is a `StoredMail`. */
export type StoredNotice = Pick<WebhookRecord, 'eventId' | 'userId' | 'payload'>;

/** More recipients than a gateway has administrators. */
const MAX_RECIPIENTS = 20;

/** The administrators who can be mailed; none while mail is not set up. */
export async function findMailedAdministrators(
  { settings }: { settings: () => AuthSettings },
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
 * Emails a stored notice to its user, at the address and in the language of that moment. `refused`:
 * it would fail again. `failed`: the mail server could not be reached, or asks to wait.
 */
export async function mailUser(
  { store, mailQueue }: { store: Store; mailQueue: MailQueue },
  { eventId, userId, payload }: StoredNotice,
): Promise<'sent' | 'refused' | 'failed'> {
  const user = await store.users.byId(userId);
  if (!user?.email || user.status !== STATUS.enabled) return 'refused';
  const outcome = await mailQueue.sendNow({
    ...{ id: eventId, to: user.email, language: pickLanguage(undefined, user.language) },
    // Only stored emails are queued.
    content: payload as StoredMail,
  });
  if (!outcome || outcome.failure?.permanent) return 'refused';
  return outcome.failure ? 'failed' : 'sent';
}
