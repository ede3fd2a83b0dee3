import { and, asc, eq, gt, lte, ne, sql } from 'drizzle-orm';
import type { JsonObject } from '../../../kernel/index.ts';
import type { PersonalDataStore, Slice } from '../../ports/index.ts';
import type { Context } from '../context.ts';
import { createAuditChains, digestOfRedacted, REDACTION } from './audit-chains.ts';

/** What people have of their own, by names and addresses that they chose. */
const OWN_TARGET = /^(?:api_key|passkey):/;

/**
 * Replaces a person by their id. A row's own hash stays, so that its chain holds; that its content
 * no longer gives this hash is vouched for by a row that is appended to the log.
 */
export function createAuditRedaction(context: Context): PersonalDataStore['redactAudit'] {
  const {
    db,
    tables,
    statement,
    prepare,
    lists: { elements },
  } = context;
  const { auditLogs } = tables;
  const { addAudit } = createAuditChains(context);

  return async (userId, slice, at) => {
    const next = await nextSlice(context, slice);
    const target = `user:${userId}`;
    const name = `deleted:${userId}`;
    const isAbout = sql`(${auditLogs.userId} = ${userId} or ${auditLogs.target} = ${target})`;
    const rows = await db
      .select()
      .from(auditLogs)
      .where(and(inSlice(tables, slice), isAbout, eq(auditLogs.redactedBy, 0), ne(auditLogs.action, REDACTION)))
      .orderBy(asc(auditLogs.id));
    if (rows.length === 0) return { redacted: 0, next };
    const redacted = rows.map((row) => {
      const isActor = row.userId === userId;
      const isOwn = isActor && OWN_TARGET.test(row.target);
      const isPersonal = isOwn || row.target === target || row.action.startsWith('auth.');
      return {
        ...row,
        username: isActor ? name : row.username,
        ip: isActor ? '' : row.ip,
        detail: isPersonal ? ({} as JsonObject) : row.detail,
      };
    });
    const detail = { rows: Object.fromEntries(redacted.map((row) => [row.id, digestOfRedacted(row)])) };
    const system = { userId: null, username: '', authMethod: 'system', ip: '' };
    await addAudit({ ...system, action: REDACTION, target, detail, createdAt: at });
    const [last] = await statement(sql`select head_id from audit_chains where name = 'change'`);
    const redactedBy = Number(last?.[0]);
    const changes = redacted.map(({ id, username, ip, detail }) => ({
      id,
      username,
      ip,
      detail: JSON.stringify(detail),
    }));
    await prepare(sql`
      update audit_logs set username = change.value ->> 'username', ip = change.value ->> 'ip',
        detail = change.value ->> 'detail', redacted_by = ${redactedBy}
      from ${elements('changes')} as change
      where audit_logs.id = cast(change.value ->> 'id' as bigint)`)({ changes: JSON.stringify(changes) });
    return { redacted: rows.length, next };
  };
}

export const inSlice = ({ auditLogs }: Context['tables'], { after, size }: Slice) =>
  and(gt(auditLogs.id, after), lte(auditLogs.id, after + size));

export async function nextSlice({ statement }: Context, { after, size }: Slice): Promise<number | undefined> {
  const [last] = await statement(sql`select coalesce(max(id), 0) from audit_logs`);
  return after + size < Number(last?.[0]) ? after + size : undefined;
}
