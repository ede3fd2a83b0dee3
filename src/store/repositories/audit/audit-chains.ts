import { and, asc, eq, getTableColumns, gt, lte, type SQL, sql } from 'drizzle-orm';
import { CLOCK_LEEWAY_SECONDS, type JsonObject, sha256Hex } from '../../../kernel/index.ts';
import type { AuditAction, AuditChainName, AuditFault, AuditRecord, LogStore } from '../../ports/index.ts';
import { atomic, type Context, lazy, toJsonSafeText } from '../context.ts';
import { columnPlaceholder, columnPlaceholders, countAll, lazyByShape } from '../prepare-by-shape.ts';

type ChainedRow = Omit<AuditRecord, 'id'> & { prevHash: string };

/** Rows per read. */
const PAGE = 1000;

/**
 * The audit log as hash chains. Appending locks the chain's row in `audit_chains`, so that nodes
 * append one after the other. Rows are only deleted from the oldest end.
 */
export function createAuditChains(context: Context): Pick<LogStore, 'addAudit' | 'deleteAudit' | 'verifyAudit'> {
  const { db, tables } = context;
  const { auditLogs, auditChains } = tables;

  const at = sql.placeholder;
  const { id: _, ...columns } = getTableColumns(auditLogs);
  const lock = lazy(() =>
    context.prepare(sql`select name from ${auditChains} where name = ${at('name')} ${context.lockRows}`),
  );
  const byName = lazy(() =>
    db
      .select()
      .from(auditChains)
      .where(eq(auditChains.name, at('name')))
      .prepare(),
  );
  const append = lazyByShape((row: object) =>
    db
      .insert(auditLogs)
      .values(columnPlaceholders(columns, row) as never)
      .returning({ id: auditLogs.id })
      .prepare(),
  );
  const moveHead = lazy(() =>
    db
      .update(auditChains)
      .set({
        headId: columnPlaceholder('headId', auditChains.headId),
        headHash: columnPlaceholder('headHash', auditChains.headHash),
      })
      .where(eq(auditChains.name, at('name')))
      .prepare(),
  );

  async function lockChain(name: AuditChainName) {
    await lock()({ name });
    const [chain] = await byName().execute({ name });
    if (!chain) throw new Error(`The database has no audit chain ${name}.`);
    return chain;
  }

  const rowsAfter = (name: AuditChainName, { id, limit }: { id: number; limit: number }, condition?: SQL) =>
    db
      .select()
      .from(auditLogs)
      .where(and(eq(auditLogs.chain, name), gt(auditLogs.id, id), condition))
      .orderBy(asc(auditLogs.id))
      .limit(limit);

  /** `undefined`: the retention deleted rows during the check. */
  async function verify(name: AuditChainName): Promise<{ fault?: AuditFault; rows: number } | undefined> {
    const [chain] = await db.select().from(auditChains).where(eq(auditChains.name, name));
    if (!chain) return { rows: 0 };
    const faultAt = async (id: number, fault: AuditFault['fault'], rows: number) => {
      const [now] = await db.select().from(auditChains).where(eq(auditChains.name, name));
      return now?.removedId === chain.removedId ? { fault: { chain: name, id, fault }, rows } : undefined;
    };
    const isRedacted = createRedactionReader(context);
    let last = { id: chain.removedId, hash: chain.removedHash };
    let rows = 0;
    while (last.id < chain.headId) {
      const page = await rowsAfter(name, { id: last.id, limit: PAGE });
      for (const row of page) {
        if (row.id > chain.headId) break;
        if (row.prevHash !== last.hash) return faultAt(row.id, 'missing', rows);
        const isWhole = row.redactedBy === 0 ? row.hash === hashEntry(row) : await isRedacted(row);
        if (!isWhole) return faultAt(row.id, 'changed', rows);
        last = row;
        rows += 1;
      }
      if (page.length < PAGE) break;
    }
    if (last.hash !== chain.headHash) return faultAt(last.id, 'missing', rows);
    return { rows };
  }

  return {
    addAudit: atomic(async (row) => {
      const name = row.action.startsWith('auth.') ? 'sign_in' : 'change';
      const { headHash } = await lockChain(name);
      // Normalised as the database returns it: what is hashed is what will be read.
      const [username, authMethod, ip, action, target] = [
        row.username,
        row.authMethod,
        row.ip,
        row.action,
        row.target,
      ].map(toJsonSafeText) as [string, string, string, string, string];
      const stored = { ...row, username, authMethod, ip, action, target, prevHash: headHash };
      const hash = hashEntry(stored);
      const appended = { ...stored, chain: name, hash };
      const [added] = await append(appended).execute(appended);
      await moveHead().execute({ name, headId: added?.id ?? 0, headHash: hash });
    }),

    deleteAudit: atomic(async (name, { until, now }, limit) => {
      const chain = await lockChain(name);
      const isPast = lte(auditLogs.createdAt, now + CLOCK_LEEWAY_SECONDS);
      const oldest = await rowsAfter(name, { id: chain.removedId, limit }, isPast);
      // Stop at the first younger row: nothing may be deleted from the middle.
      const young = oldest.findIndex(({ createdAt }) => createdAt > until);
      const old = young === -1 ? oldest : oldest.slice(0, young);
      const last = old.at(-1);
      if (!last) return 0;
      await db.delete(auditLogs).where(and(eq(auditLogs.chain, name), lte(auditLogs.id, last.id)));
      await db
        .update(auditChains)
        .set({ removedId: last.id, removedHash: last.hash })
        .where(eq(auditChains.name, name));
      return old.length;
    }),

    async verifyAudit() {
      const faults: AuditFault[] = [];
      let chained = 0;
      for (const name of ['change', 'sign_in'] as const) {
        const found = (await verify(name)) ?? (await verify(name)) ?? { rows: 0 };
        if (found.fault) faults.push(found.fault);
        chained += found.rows;
      }
      const [first] = await db
        .select({ id: auditLogs.id })
        .from(auditLogs)
        .where(gt(auditLogs.chain, ''))
        .orderBy(asc(auditLogs.id))
        .limit(1);
      const [since] = await db
        .select({ total: countAll() })
        .from(auditLogs)
        .where(and(eq(auditLogs.chain, ''), gt(auditLogs.id, first?.id ?? Number.MAX_SAFE_INTEGER)));
      return { faults, chained, unchained: since?.total ?? 0 };
    },
  };
}

/**
 * The hash of a row's content and of the previous hash. Encoded as a JSON array, so that no two
 * rows have the same text.
 */
const hashEntry = ({
  prevHash,
  userId,
  username,
  authMethod,
  ip,
  action,
  target,
  detail,
  createdAt,
}: ChainedRow): string =>
  sha256Hex(JSON.stringify([prevHash, userId, username, authMethod, ip, action, target, detail, createdAt]));

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
function createRedactionReader({ db, tables: { auditLogs, auditChains } }: Context) {
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
