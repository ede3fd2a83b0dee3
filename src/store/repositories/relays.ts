import { and, asc, desc, eq, getTableColumns, sql } from 'drizzle-orm';
import type { RelayStore } from '../ports/index.ts';
import { type Context, lazy } from './context.ts';

/** A literal and not a parameter, so that the partial index of open requests applies. */
const OPEN = sql.raw(`'OPEN'`);

export function createRelayStore({ db, tables, nowMs, now }: Context): RelayStore {
  const { relayRequests: requests, relayObjects: objects } = tables;
  const { id: _, ...objectColumns } = getTableColumns(objects);
  const at = sql.placeholder;
  const isOpen = sql`${requests.status} = ${OPEN}`;
  const hasRunOut = sql`${requests.leaseUntilMs} <= ${nowMs}`;
  const leaseUntilMs = sql`${nowMs} + ${at('leaseForMs')}`;
  const isHeld = (relayId: string, owner: string) =>
    and(eq(requests.relayId, relayId), eq(requests.leaseOwner, owner), isOpen);

  const interrupted = lazy(() =>
    db
      .select()
      .from(requests)
      .where(and(isOpen, hasRunOut))
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
        .where(isHeld(relayId, owner))
        .returning({ id: requests.id })
        .prepare()
        .execute({ leaseForMs, ...now() });
      return renewed.length === 1;
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
          ? and(eq(requests.relayId, relayId), isOpen, hasRunOut)
          : isHeld(relayId, by.owner);
      const ended = await db
        .update(requests)
        .set({ ...ending, leaseUntilMs: 0 })
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

    async ownObject(userId, kind, objectId) {
      const [row] = await db
        .select(objectColumns)
        .from(objects)
        .where(and(eq(objects.objectId, objectId), eq(objects.kind, kind), eq(objects.userId, userId)))
        .orderBy(desc(objects.id))
        .limit(1);
      return row;
    },

    async objectOf(relayId) {
      const [row] = await db.select(objectColumns).from(objects).where(eq(objects.relayId, relayId)).limit(1);
      return row;
    },
  };
}
