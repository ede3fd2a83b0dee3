/**
 * Owns: webhook notices and emails, in one outbox: their addresses, signatures, attempts and
 * retries. May touch: the store, upstream. Never touches: plugins, vendors, bills, HTTP requests.
 *
 * `webhooks.ts` writes a notice in the transaction of its change. `outbox-worker.ts` claims notices
 * and emails; in `host-queues.ts` receivers take turns; `deliver-webhook.ts` makes one attempt and
 * says when the next one is due. A notice is given up after 24 hours (`LONGEST_WEBHOOK_TRIES_MS` in
 * `store/ports/outbox.ts`).
 */

export { chooseCallback, createCallbackUrls, refuseCallback, shownUrl } from './callback-urls.ts';
export { notificationErrors } from './errors.ts';
export { readSecret } from './sign-message.ts';
export type { AllowedReceivers, GatewayDelivery, WebhookServices } from './types.ts';
export { createWebhooks, type Notice, type Webhooks } from './webhooks.ts';
