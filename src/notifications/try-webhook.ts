import { isoTime, newMessageId } from '../kernel/index.ts';
import { NO_API_KEY, OPERATOR, type WebhookDelivery, type WebhookRecord } from '../store/ports/index.ts';
import { canonicalHost } from '../upstream/index.ts';
import { deliverWebhook } from './deliver-webhook.ts';
import { readSecret } from './sign-message.ts';
import type { NotificationDeps } from './types.ts';

/**
 * Sends one notice of the type `test` now, signed as every other, and stores nothing. `fault`: why
 * the address or the secret cannot be used; then nothing was sent.
 */
export async function tryWebhook(
  deps: Pick<NotificationDeps, 'clock' | 'webhooks'>,
  { url, secret }: { url: string; secret: string },
): Promise<{ fault: string } | { delivered: boolean; delivery: WebhookDelivery }> {
  const { clock, webhooks } = deps;
  const checked = webhooks.urls.check(url);
  if (!checked.ok) return { fault: checked.error };
  const key = readSecret(secret);
  if (!key) return { fault: 'The secret must be whsec_ and 24 to 64 bytes in base64.' };
  const now = clock.nowMs();
  const notice: WebhookRecord = {
    ...{ id: 0, eventId: newMessageId(), taskId: '', userId: OPERATOR, apiKeyId: NO_API_KEY, event: 'test' },
    ...{ url: checked.value.href, host: canonicalHost(checked.value), status: 'pending' },
    payload: { type: 'test', timestamp: isoTime(now), data: {} },
    ...{ attempts: 0, retries: 0, nextAttemptAtMs: now, giveUpAtMs: now, lastAttemptAtMs: now },
    ...{ leaseOwner: null, leaseUntilMs: 0, leaseSeq: 0, createdAt: clock.unix() },
  };
  const controller = new AbortController();
  const attempt = await deliverWebhook(
    { ...deps, attachArtifacts: async () => ({}) },
    { notice, keys: [key], controller },
  );
  const delivery = attempt?.delivery ?? { at: clock.unix(), httpStatus: 0, durationMs: 0, error: 'stopped' };
  return { delivered: attempt?.outcome.status === 'delivered', delivery };
}
