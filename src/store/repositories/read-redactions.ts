import { and, eq } from 'drizzle-orm';
import { type JsonObject, sha256Hex } from '../../kernel/index.ts';
import type { AuditAction, AuditRecord } from '../ports/index.ts';
import type { Context } from './context.ts';

/** The action of the row that says what redacted rows became: `detail.rows`, id to digest. */
export const REDACTION = 'audit.redact' satisfies AuditAction;

type RedactedRow = AuditRecord & { hash: string };

/**
 * The digest of a redacted row: of what is left of it, and of the hash that it was written with,
 * which links it to its neighbours.
 */
export const digestOfRedacted = (row: RedactedRow): string =>
  sha256Hex(
    JSON.stringify([
      row.hash,
      row.userId,
      row.username,
      row.authMethod,
      row.ip,
      row.action,
      row.target,
      row.detail,
      row.createdAt,
    ]),
  );

/** Reads what the log says about redacted rows; each of its rows once. */
export function createRedactionReader({ db, tables: { auditLogs, auditChains } }: Context) {
  const known = new Map<number, Promise<JsonObject | undefined>>();

  async function read(id: number): Promise<JsonObject | undefined> {
    const [row] = await db
      .select({ detail: auditLogs.detail })
      .from(auditLogs)
      .where(and(eq(auditLogs.id, id), eq(auditLogs.chain, 'change'), eq(auditLogs.action, REDACTION)));
    return row?.detail;
  }

  /** Whether the row is what the log says, or the retention removed what it said. */
  return async (row: RedactedRow & { redactedBy: number }): Promise<boolean> => {
    const found = known.get(row.redactedBy) ?? read(row.redactedBy);
    known.set(row.redactedBy, found);
    const detail = await found;
    if (detail) return (detail.rows as Record<string, unknown> | undefined)?.[row.id] === digestOfRedacted(row);
    const [chain] = await db.select().from(auditChains).where(eq(auditChains.name, 'change'));
    return row.redactedBy <= (chain?.removedId ?? 0);
  };
}
