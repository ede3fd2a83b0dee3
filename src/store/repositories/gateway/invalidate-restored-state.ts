import { RESTORED_NODE } from '../../ports/index.ts';

/** Why the restore gave a webhook up, in its list of attempts. */
const NOT_SENT = 'not sent: the database was restored from a backup';

/**
 * Statements that end what a restored database would do once more: order, deliver, and admit
 * whom it had admitted. Each statement has the name of the table that it needs. Run them in this
 * order; a second run changes nothing more. `at`: Unix seconds.
 */
export const invalidationStatements = (at: number) => ({
  // What was sent since then must not be sent again; the next start ends and refunds them.
  waiting: `update waiting set node = '${RESTORED_NODE}', deadline = 0, due_at = 0`,
  // Which items of a batch were sent since then is not known here.
  batch_items: `update batch_items set status = 'cancelled', body = null where status in ('pending', 'sending')`,
  webhook_deliveries: `insert into webhook_deliveries (outbox_id, at, error)
    select id, ${at}, '${NOT_SENT}' from webhook_outbox where status = 'pending'`,
  webhook_outbox: `update webhook_outbox set status = 'failed', lease_owner = null, lease_until = 0,
    lease_seq = lease_seq + 1 where status = 'pending' returning id`,
  // Sessions and flows that ended since then must not come back.
  user_sessions: `update user_sessions set status = 'revoked', revoked_at = ${at}, revoked_reason = 'restored'
    where status = 'active' returning sid`,
  auth_flows: 'delete from auth_flows',
});
