import { defineErrors } from '../kernel/index.ts';

/** Clients know these codes as `tasks.*`, whichever room decides them. */
export const notificationErrors = defineErrors('tasks', {
  callback_url_invalid: ['invalid', "The gateway can't call this callback URL."],
  webhook_secret_required: ['invalid', 'This API key has no webhook secret, so its receiver could not verify notices.'],
  webhook_not_found: ['not_found', 'The task has no such notice.'],
  webhook_underway: ['conflict', 'The notice is being delivered right now. Check its attempts, then try again.'],
  webhook_unsigned: ['conflict', 'The API key of this notice was deleted, so nothing can sign it.'],
});
