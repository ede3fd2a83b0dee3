import { type Clock, jitter, type Logger } from '../../kernel/index.ts';
import type { MailFailure, MailOutcome, MailStep, SendMail } from '../../upstream/index.ts';
import type { AuthSettings } from '../config.ts';
import { createQueueLimit } from '../limits/limit-password-hashing.ts';
import { composeMail } from './compose-mail.ts';
import type { MailContent } from './mail-texts.ts';
import type { MailLanguage } from './pick-language.ts';

/**
 * A mail to one person. It is never written down: codes and links live in memory until they are
 * sent.
 */
export type OutgoingMail = { to: string; language: MailLanguage; content: MailContent };

/**
 * Mails on their way. They leave after the answer to the request that caused them: whether one was
 * sent shows in no status, no body and no time.
 */
export interface Outbox {
  /**
   * Takes a mail; never waits, never fails. Without mail settings, and while it stops, nothing is
   * sent.
   */
  post(letter: OutgoingMail): void;
  /** Sends one now and tells step by step what happened. `undefined` without mail settings. */
  sendNow(letter: OutgoingMail): Promise<MailStep[] | undefined>;
  /** Takes no more mails; waits at most `graceMs` for those under way and drops the others. */
  stop(graceMs: number): Promise<void>;
}

/** Conversations with the mail server at once. */
const AT_ONCE = 4;
/**
 * More than a node ever has waiting while the server works: beyond it mails are dropped instead of
 * filling the memory.
 */
const MAX_WAITING = 1000;
/** Before the second and the third try. */
const PAUSES_MS = [2000, 10_000];
/**
 * Before the first try, between half of it and one and a half: the work of sending must not show in
 * the next answers' times.
 */
const SPREAD_MS = 200;

export function createOutbox(deps: {
  sendMail: SendMail;
  settings: () => AuthSettings;
  clock: Clock;
  logger: Logger;
}): Outbox {
  const { sendMail, settings, clock, logger } = deps;
  const gate = createQueueLimit(AT_ONCE, MAX_WAITING);
  const stopping = new AbortController();
  const late = new AbortController();
  const underWay = new Set<Promise<void>>();

  /** One conversation, under the settings of this moment. */
  async function hand({ to, language, content }: OutgoingMail): Promise<MailOutcome | undefined> {
    const { mail, ...names } = settings();
    return mail && sendMail(mail, { from: mail.from, to, ...composeMail(content, language, names) });
  }

  async function attempt(letter: OutgoingMail): Promise<Failure | undefined> {
    if (late.signal.aborted) return { step: 'stop', permanent: true };
    const outcome = await hand(letter);
    return outcome ? outcome.failure : { step: 'settings', permanent: true };
  }

  async function deliver(letter: OutgoingMail): Promise<void> {
    await clock.sleep(jitter(SPREAD_MS, 0.5), stopping.signal);
    for (let tries = 1; ; tries += 1) {
      const failure = await gate(() => attempt(letter));
      if (!failure) return;
      const pause = PAUSES_MS[tries - 1];
      if (failure.permanent || pause === undefined || stopping.signal.aborted) {
        // Of the mail only why it was sent: no address, no code, nothing of what the server said
        // about them.
        const { step, reply } = failure;
        logger.error({ mail: letter.content.kind, tries, step, reply }, 'a mail could not be sent and was dropped');
        return;
      }
      await clock.sleep(pause, stopping.signal);
    }
  }

  return {
    post(letter) {
      const mail = letter.content.kind;
      if (stopping.signal.aborted || underWay.size >= MAX_WAITING) {
        logger.error({ mail, waiting: underWay.size }, 'a mail was dropped: no room or no time left');
        return;
      }
      const delivery = deliver(letter)
        .catch((error) => logger.error({ err: error, mail }, 'a mail was dropped by an unexpected error'))
        .finally(() => underWay.delete(delivery));
      underWay.add(delivery);
    },

    async sendNow(letter) {
      return (await hand(letter))?.steps;
    },

    async stop(graceMs) {
      stopping.abort();
      const finished = new AbortController();
      const all = Promise.all(underWay).then(() => finished.abort());
      await Promise.race([all, clock.sleep(graceMs, finished.signal)]);
      late.abort();
    },
  };
}

type Failure = Pick<MailFailure, 'permanent'> & { step: string; reply?: number };
