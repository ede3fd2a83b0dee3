import { defineErrors } from '../kernel/index.ts';

/** Clients know these codes as `tasks.*`, whichever room decides them. */
export const notificationErrors = defineErrors('tasks', {
  callback_url_invalid: ['invalid', 'The callback URL cannot be called.'],
  webhook_secret_required: ['invalid', 'This API key has no webhook secret, so its receiver could not verify notices.'],
  webhook_not_found: ['not_found', 'The task has no such notice.'],
  webhook_underway: ['conflict', 'The notice is being delivered at this moment. Look at its attempts, then try again.'],
  webhook_unsigned: ['conflict', 'The API key of this notice was deleted, so nothing can sign it.'],
});
