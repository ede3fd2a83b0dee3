import { sql } from 'drizzle-orm';
import { FOLDER_OPTION } from '../drivers/guard-folder.ts';
import type { BackupStore } from '../ports/index.ts';
import { RUNNING } from './claim-tasks.ts';
import type { Context } from './context.ts';

/** Why a webhook of the past was given up, in its list of attempts. */
const NOT_SENT = 'not sent: the database was restored from a backup';

/**
 * What a restored database must forget. Each statement is conditional, so that a second run, after
 * one that was killed, changes nothing more.
 */
export function createPastEnding({ statement }: Context): Pick<BackupStore, 'endPast'> {
  return {
    async endPast(at) {
      // A process of the past may still be submitting: its lease's number no longer fits.
      const submissions = await statement(sql`update tasks set lease_owner = null, lease_until = 0,
        lease_seq = lease_seq + 1 where status = 'NOT_START' and lease_until > 0 returning id`);
      await statement(sql`update tasks set lease_owner = null, lease_until = 0, lease_seq = lease_seq + 1
        where status in ${RUNNING} and lease_until > 0`);
      await statement(sql`update relay_requests set lease_until = 0 where status = 'OPEN' and lease_until > 0`);
      await statement(sql`update kept_results set lease_owner = null, lease_until = 0, lease_seq = lease_seq + 1
        where lease_owner is not null`);
      await statement(sql`insert into webhook_deliveries (outbox_id, at, error)
        select id, ${at}, ${NOT_SENT} from webhook_outbox where status = 'pending'`);
      const webhooks = await statement(sql`update webhook_outbox set status = 'failed', lease_owner = null,
        lease_until = 0, lease_seq = lease_seq + 1 where status = 'pending' returning id`);
      // Sessions and flows that ended after the backup must not come back.
      const sessions = await statement(sql`update user_sessions set status = 'revoked', revoked_at = ${at},
        revoked_reason = 'restored' where status = 'active' returning sid`);
      await statement(sql`delete from auth_flows`);
      // The restored gateway has another folder of results, which its first use marks.
      await statement(sql`delete from options where key = ${FOLDER_OPTION}`);
      await statement(sql`delete from nodes`);
      await statement(sql`delete from backup_runs`);
      return { submissions: submissions.length, webhooks: webhooks.length, sessions: sessions.length };
    },
  };
}
