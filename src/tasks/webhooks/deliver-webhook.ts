import type { ApiKeyRecord, WebhookDelivery, WebhookOutcome, WebhookRecord } from '../../store/ports/index.ts';
import type { TaskDeps } from '../types.ts';
import { retryAfterMs } from '../vendor/poll-schedule.ts';
import { MAX_RETRY_AFTER_MS, retryDelayMs } from './retry-schedule.ts';
import { signatureHeaders, signingKeys } from './sign-message.ts';

/** Of an answer's body, which nobody reads. */
const MAX_ANSWER_BYTES = 64 * 1024;

const GONE = 410;

type Deps = Pick<TaskDeps, 'clock' | 'webhooks'>;
/** Why an attempt is cut short: its time is over, or the node stops. */
type Cut = 'timeout' | 'stopped';
export type Attempt = { outcome: WebhookOutcome; delivery: WebhookDelivery };

/**
 * Tries a notice once, signed with its `key`, and says what became of it; `undefined` when it was
 * cut short by `cutting.abort('stopped')`, so that nobody knows. What the receiver answers counts
 * by its status alone: 2xx is delivered, 410 ends it, everything else is tried again.
 */
export async function deliverWebhook(
  deps: Deps,
  notice: WebhookRecord,
  key: ApiKeyRecord | undefined,
  cutting: AbortController,
): Promise<Attempt | undefined> {
  const { clock, webhooks } = deps;
  const { attemptMs } = webhooks;
  const at = clock.unix();
  const started = clock.monotonicMs();
  const end = (outcome: WebhookOutcome, httpStatus: number, error = ''): Attempt => {
    const durationMs = Math.round(clock.monotonicMs() - started);
    return { outcome, delivery: { at, httpStatus, durationMs, error } };
  };
  const again = (retryAfter = 0): WebhookOutcome => ({
    status: 'retry',
    inMs: retryDelayMs(notice.retries, retryAfter),
  });

  if (!key) return end({ status: 'failed' }, 0, 'key_deleted');
  const keys = signingKeys(webhooks.secretBox, key, at);
  if (keys.length === 0) return end(again(), 0, 'secret_unreadable');
  // The rules may have become stricter since it was taken.
  const checked = webhooks.urls.check(notice.url);
  if (!checked.ok) return end(again(), 0, 'not_allowed');

  const body = JSON.stringify(notice.payload);
  const cut = (): Cut | undefined => (cutting.signal.aborted ? cutting.signal.reason : undefined);
  const timer = setTimeout(() => cutting.abort('timeout' satisfies Cut), attemptMs);
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
      maxRedirects: 0,
      connectTimeoutMs: attemptMs,
      headersTimeoutMs: attemptMs,
      idleTimeoutMs: attemptMs,
      maxResponseBytes: MAX_ANSWER_BYTES,
      signal: cutting.signal,
    });
    if (!answered.ok) {
      if (cut() === 'stopped') return undefined;
      return end(again(), 0, cut() ?? answered.error.kind);
    }
    const { status, headers } = answered.value;
    // Read to its end for the connection's sake; one that is too large or too slow is cut off. The
    // status stands either way.
    await answered.value.bytes();
    if (status >= 200 && status < 300) return end({ status: 'delivered' }, status);
    if (status === GONE) return end({ status: 'failed' }, status);
    return end(again(retryAfterMs(headers['retry-after']?.[0], clock.nowMs(), MAX_RETRY_AFTER_MS)), status);
  } finally {
    clearTimeout(timer);
  }
}
