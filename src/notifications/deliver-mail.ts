import type { WebhookRecord } from '../store/ports/index.ts';
import type { Attempt } from './deliver-webhook.ts';
import { retryDelayMs } from './retry-schedule.ts';
import type { NotificationDeps } from './types.ts';

/**
 * Sends a notice of the gateway as a mail, once. A process that dies after the mail server took it
 * sends it again, with the same Message-ID. One that cannot be written, such as of a kind that only
 * a newer version knows, is given up like one that cannot be sent.
 */
export async function deliverMail(
  { clock, logger, webhooks: { gateway } }: Pick<NotificationDeps, 'clock' | 'logger' | 'webhooks'>,
  notice: WebhookRecord,
): Promise<Attempt> {
  const at = clock.unix();
  const started = clock.monotonicMs();
  const fail = (error: unknown) => {
    logger.warn({ err: error, webhook_id: notice.eventId }, 'a notice could not be mailed; it is tried again');
    return 'failed' as const;
  };
  const result = (await gateway?.sendMail(notice).catch(fail)) ?? 'refused';
  const delivery = { at, httpStatus: 0, durationMs: Math.round(clock.monotonicMs() - started) };
  if (result === 'sent') return { outcome: { status: 'delivered' }, delivery: { ...delivery, error: '' } };
  if (result === 'refused') return { outcome: { status: 'failed' }, delivery: { ...delivery, error: 'mail_refused' } };
  const outcome = { status: 'retry' as const, inMs: retryDelayMs(notice.retries, 0) };
  return { outcome, delivery: { ...delivery, error: 'mail_failed' } };
}
