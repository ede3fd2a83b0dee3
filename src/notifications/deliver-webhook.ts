import { jitter, type Random } from '../kernel/index.ts';
import type { WebhookDelivery, WebhookOutcome, WebhookRecord } from '../store/ports/index.ts';
import { retryAfterMs } from '../upstream/index.ts';
import type { AttachArtifacts } from './attach-artifacts.ts';
import { signatureHeaders } from './sign-message.ts';
import type { NotificationDeps } from './types.ts';

/** Bytes of an answer's body that are read and thrown away. */
const MAX_ANSWER_BYTES = 64 * 1024;

const GONE = 410;

type Deps = Pick<NotificationDeps, 'clock' | 'random' | 'webhooks'> & { attachArtifacts: AttachArtifacts };
/** Why an attempt was aborted: it timed out, or the node is stopping. */
type AbortReason = 'timeout' | 'stopped';
export type Attempt = { outcome: WebhookOutcome; delivery: WebhookDelivery };

/** `keys` sign the notice; undefined when the API key was deleted, or nobody wants the notice. */
type Delivery = { notice: WebhookRecord; keys: Uint8Array[] | undefined; controller: AbortController };

/**
 * Sends a notice once and returns the outcome; `undefined` after `controller.abort('stopped')`,
 * when the outcome is unknown. Only the status of the answer counts: 2xx is delivered, 410 ends the
 * notice, anything else is retried.
 */
export async function deliverWebhook(deps: Deps, { notice, keys, controller }: Delivery): Promise<Attempt | undefined> {
  const { clock, random, webhooks } = deps;
  const { attemptMs } = webhooks;
  const at = clock.unix();
  let started = clock.monotonicMs();
  const end = (outcome: WebhookOutcome, httpStatus: number, error = ''): Attempt => {
    const durationMs = Math.round(clock.monotonicMs() - started);
    return { outcome, delivery: { at, httpStatus, durationMs, error } };
  };
  const retry = (retryAfter = 0): WebhookOutcome => ({
    status: 'retry',
    inMs: retryDelayMs(notice.retries, retryAfter, random),
  });

  if (!keys) return end({ status: 'failed' }, 0, 'key_deleted');
  if (keys.length === 0) return end(retry(), 0, 'secret_unreadable');
  // Checked again: the rules may have become stricter since the submission.
  const checked = webhooks.urls.check(notice.url);
  if (!checked.ok) return end(retry(), 0, 'not_allowed');

  const { signal } = controller;
  const abortReason = (): AbortReason | undefined => (signal.aborted ? signal.reason : undefined);
  const body = JSON.stringify({ ...notice.payload, ...(await deps.attachArtifacts(notice, signal)) });
  if (signal.aborted) return undefined;
  // From here on it is the receiver's time.
  started = clock.monotonicMs();
  const ended = new AbortController();
  void clock.sleep(attemptMs, ended.signal).then(() => {
    if (!ended.signal.aborted) controller.abort('timeout' satisfies AbortReason);
  });
  try {
    const answered = await webhooks.upstream.request({
      url: notice.url,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...signatureHeaders(keys, { id: notice.eventId, timestamp: at, body }),
      },
      body: { kind: 'text', text: body },
      privateHosts: webhooks.urls.privateHosts(checked.value),
      // The operator has named it.
      isKnownHost: (url) => webhooks.urls.privateHosts(url).length > 0,
      maxRedirects: 0,
      connectTimeoutMs: attemptMs,
      headersTimeoutMs: attemptMs,
      idleTimeoutMs: attemptMs,
      maxResponseBytes: MAX_ANSWER_BYTES,
      signal,
    });
    if (!answered.ok) {
      if (abortReason() === 'stopped') return undefined;
      return end(retry(), 0, abortReason() ?? answered.error.kind);
    }
    const { status, headers } = answered.value;
    // The body is read so that the connection can be reused; one that is too large or too slow is
    // cut off. The status counts in any case.
    await answered.value.bytes();
    if (status >= 200 && status < 300) return end({ status: 'delivered' }, status);
    if (status === GONE) return end({ status: 'failed' }, status);
    return end(retry(retryAfterMs(headers['retry-after']?.[0], clock.nowMs(), LONGEST_RETRY_AFTER_MS)), status);
  } finally {
    ended.abort();
  }
}

/**
 * Sends a notice of the gateway as an email, once. A process that dies after the mail server took
 * it sends it again, with the same Message-ID. One that cannot be written, such as of a kind that
 * only a newer version knows, is given up like one that cannot be sent.
 */
export async function deliverMail(
  { clock, random, logger, webhooks: { gateway } }: Pick<NotificationDeps, 'clock' | 'random' | 'logger' | 'webhooks'>,
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
  const outcome = { status: 'retry' as const, inMs: retryDelayMs(notice.retries, 0, random) };
  return { outcome, delivery: { ...delivery, error: 'mail_failed' } };
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/**
 * Pauses after the first, second, … failed attempt. A notice is given up after
 * `LONGEST_WEBHOOK_TRIES_MS` (`store/ports/outbox.ts`).
 */
const PAUSES_MS = [5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR];
/** Pause after all further attempts. */
const LONGEST_PAUSE_MS = 2 * HOUR;

/** Spreads the retries of notices that failed together. */
const JITTER = 0.1;

/** Longest Retry-After of a receiver that is obeyed. */
const LONGEST_RETRY_AFTER_MS = HOUR;

/**
 * Milliseconds until the next attempt, after `retries` failed attempts before this one. Retry-After
 * can only make it longer.
 */
function retryDelayMs(retries: number, retryAfterMs: number, random: Random): number {
  const pause = PAUSES_MS[retries] ?? LONGEST_PAUSE_MS;
  return Math.max(jitter(pause, JITTER, random), Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS));
}
