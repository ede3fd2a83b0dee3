import { and, asc, desc, eq, getTableColumns, inArray, lte, ne, sql } from 'drizzle-orm';
import type { RelayKind, RelayObject, RelayPartKind, RelayStore } from '../ports/index.ts';
import { type Context, lazy } from './context.ts';

/**
 * A literal and not a parameter, so that the partial indexes of open and of ended requests apply.
 */
const OPEN = sql.raw(`'OPEN'`);
const KINDS: RelayKind[] = ['response', 'video'];

export function createRelayStore({ db, tables, nowMs, now, amongRows }: Context): RelayStore {
  const { relayRequests: requests, relayObjects: objects } = tables;
  const { id: _, ...objectColumns } = getTableColumns(objects);
  const at = sql.placeholder;
  const isOpen = sql`${requests.status} = ${OPEN}`;
  const leaseHasExpired = sql`${requests.leaseUntilMs} <= ${nowMs}`;
  const leaseUntilMs = sql`${nowMs} + ${at('leaseForMs')}`;
  const isOf = (relayId: string, owner: string) => and(eq(requests.relayId, relayId), eq(requests.leaseOwner, owner));
  const isHeld = (relayId: string, owner: string) => and(isOf(relayId, owner), isOpen);

  const interrupted = lazy(() =>
    db
      .select()
      .from(requests)
      .where(and(isOpen, leaseHasExpired))
      .orderBy(asc(requests.leaseUntilMs))
      .limit(at('limit'))
      .prepare(),
  );

  return {
    async open({ leaseForMs, ...relay }) {
      const [row] = await db
        .insert(requests)
        .values({ ...relay, status: 'OPEN', leaseUntilMs })
        .returning()
        .prepare()
        .execute({ leaseForMs, ...now() });
      return row as NonNullable<typeof row>;
    },

    async byRelayId(relayId) {
      const [row] = await db.select().from(requests).where(eq(requests.relayId, relayId));
      return row;
    },

    async renew(relayId, owner, leaseForMs) {
      const renewed = await db
        .update(requests)
        .set({ leaseUntilMs })
        .where(and(isOf(relayId, owner), ne(requests.status, 'REFUNDED')))
        .returning({ id: requests.id })
        .prepare()
        .execute({ leaseForMs, ...now() });
      return renewed.length === 1;
    },

    async release(relayId, owner) {
      await db
        .update(requests)
        .set({ leaseUntilMs: 0 })
        .where(and(isOf(relayId, owner), ne(requests.status, 'OPEN')));
    },

    async isDelivered(relayId) {
      const held = await db
        .select({ id: requests.id })
        .from(requests)
        .where(and(eq(requests.relayId, relayId), sql`${requests.leaseUntilMs} > ${nowMs}`))
        .prepare()
        .execute(now());
      return held.length === 0;
    },

    async move(relayId, owner, { leaseForMs, ...change }) {
      const moved = await db
        .update(requests)
        .set({ ...change, leaseUntilMs })
        .where(isHeld(relayId, owner))
        .returning({ id: requests.id })
        .prepare()
        .execute({ leaseForMs, ...now() });
      return moved.length === 1;
    },

    async end({ relayId, by, reserved }, ending) {
      const mayEnd =
        by === 'anyone_after_expiry'
          ? and(eq(requests.relayId, relayId), isOpen, leaseHasExpired)
          : isHeld(relayId, by.owner);
      const ended = await db
        .update(requests)
        .set(ending.status === 'REFUNDED' ? { ...ending, leaseUntilMs: 0 } : ending)
        .where(and(mayEnd, eq(requests.quota, reserved)))
        .returning({ id: requests.id })
        .prepare()
        .execute(now());
      return ended.length === 1;
    },

    interrupted: async (limit) => interrupted().execute({ limit, ...now() }),

    async expireLeases() {
      const expired = await db.update(requests).set({ leaseUntilMs: 0 }).where(isOpen).returning({ id: requests.id });
      return expired.length;
    },

    async addObject(object) {
      const added = await db.insert(objects).values(object).onConflictDoNothing().returning({ id: objects.id });
      return added.length === 1;
    },

    async addParts(parts) {
      if (parts.length > 0)
        await db
          .insert(objects)
          .values([...parts])
          .onConflictDoNothing();
    },

    async ownObject(userId, kind, objectId) {
      const [row] = await db
        .select(objectColumns)
        .from(objects)
        .where(and(eq(objects.objectId, objectId), eq(objects.kind, kind), eq(objects.userId, userId)))
        .orderBy(desc(objects.id))
        .limit(1);
      return row as RelayObject | undefined;
    },

    async ownParts(userId, kind, names) {
      if (names.length === 0) return [];
      const rows = await db
        .select(objectColumns)
        .from(objects)
        .where(and(inArray(objects.objectId, [...names]), eq(objects.kind, kind), eq(objects.userId, userId)))
        .orderBy(asc(objects.id));
      return rows as RelayObject<RelayPartKind>[];
    },

    async objectOf(relayId) {
      const [row] = await db
        .select(objectColumns)
        .from(objects)
        .where(and(eq(objects.relayId, relayId), inArray(objects.kind, KINDS)))
        .limit(1);
      return row as RelayObject | undefined;
    },

    async deleteEnded(endedUntil, limit) {
      const isOld = and(sql`${requests.status} <> ${OPEN}`, lte(requests.finishedAt, endedUntil));
      const rows = sql`select ${requests.id} from ${requests} where ${isOld} order by ${requests.finishedAt} limit ${limit}`;
      const deleted = await db
        .delete(requests)
        .where(and(amongRows(requests.id, rows), isOld))
        .returning({ id: requests.id });
      return deleted.length;
    },

    async deleteObjects(createdUntil, limit) {
      const isOld = lte(objects.createdAt, createdUntil);
      const rows = sql`select ${objects.id} from ${objects} where ${isOld} order by ${objects.createdAt} limit ${limit}`;
      const deleted = await db
        .delete(objects)
        .where(and(amongRows(objects.id, rows), isOld))
        .returning({ id: objects.id });
      return deleted.length;
    },
  };
}
