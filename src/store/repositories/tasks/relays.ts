import { and, asc, desc, eq, getTableColumns, gt, inArray, lt, lte, ne, not, sql } from 'drizzle-orm';
import { sha256Hex } from '../../../kernel/index.ts';
import {
  type EndedRelay,
  FOLLOWED_KINDS,
  LONGEST_LEASE_MS,
  type NewRelay,
  type RelayObject,
  type RelayObjectKind,
  type RelayPartKind,
  type RelayRecord,
  type RelayStore,
  type RequestedVideo,
} from '../../ports/index.ts';
import { type Context, encodeTexts, isOverIn, lazy } from '../context.ts';
import { columnPlaceholders, lazyByShape } from '../prepare-by-shape.ts';

/**
 * A literal and not a parameter, so that the partial indexes of open and of ended requests apply.
 */
const OPEN = sql.raw(`'OPEN'`);
/** The list as the partial index has it. */
const FOLLOWED = sql.raw(FOLLOWED_KINDS.map((kind) => `'${kind}'`).join(', '));
const KINDS: RelayObjectKind[] = ['response', 'video'];

/** Bytes of an id that is stored as it is. An index row of PostgreSQL holds at most 2,704 bytes. */
const MAX_PLAIN_BYTES = 191;
/** Begins a digest. An id that begins so is stored by its digest too, so the two never meet. */
const DIGEST = '=';

/** An id as the index has it. */
const toColumnName = (id: string): string =>
  id.startsWith(DIGEST) || Buffer.byteLength(id) > MAX_PLAIN_BYTES ? `${DIGEST}${sha256Hex(id)}` : id;

type ObjectRow = { objectId: string; fullId: string };
const toRow = <T extends { objectId: string }>(object: T): T & ObjectRow => {
  const name = toColumnName(object.objectId);
  return { ...object, objectId: name, fullId: name === object.objectId ? '' : object.objectId };
};
type StoredObject = ObjectRow & { video: RequestedVideo | null };
function toObject<T extends RelayObject | RelayObject<RelayPartKind>>(row: StoredObject | undefined): T | undefined {
  if (!row) return undefined;
  const { fullId, video, ...object } = row;
  return { ...object, ...(fullId === '' ? {} : { objectId: fullId }), ...(video ? { video } : {}) } as T;
}

export function createRelayStore({ db, tables, nowMs, now, lists: { amongRows, amongTexts } }: Context): RelayStore {
  const { relayRequests: requests, relayObjects: objects } = tables;
  const { id: _, ...objectColumns } = getTableColumns(objects);
  const at = sql.placeholder;
  const isOpen = sql`${requests.status} = ${OPEN}`;
  const isFollowed = sql`${requests.kind} in (${FOLLOWED})`;
  const leaseHasExpired = isOverIn(requests.leaseUntilMs, nowMs, LONGEST_LEASE_MS);
  const leaseUntilMs = sql`${nowMs} + ${at('leaseForMs')}`;
  const isRelay = eq(requests.relayId, at('theRelay'));
  const isOwned = and(isRelay, eq(requests.leaseOwner, at('theOwner')));
  const isHeld = and(isOwned, isOpen);

  const open = lazyByShape((relay: Omit<NewRelay, 'leaseForMs'>) =>
    db
      .insert(requests)
      .values({ ...columnPlaceholders(getTableColumns(requests), relay), status: 'OPEN', leaseUntilMs } as never)
      .returning()
      .prepare(),
  );
  const insertEnded = lazyByShape((relay: EndedRelay) =>
    db
      .insert(requests)
      .values({ ...columnPlaceholders(getTableColumns(requests), relay), leaseUntilMs: 0 } as never)
      .onConflictDoNothing()
      .returning({ id: requests.id })
      .prepare(),
  );
  const byRelayId = lazy(() => db.select().from(requests).where(isRelay).prepare());
  const renew = lazy(() =>
    db
      .update(requests)
      .set({ leaseUntilMs })
      .where(and(isOwned, ne(requests.status, 'REFUNDED')))
      .returning({ id: requests.id })
      .prepare(),
  );
  const release = lazy(() =>
    db
      .update(requests)
      .set({ leaseUntilMs: 0 })
      .where(and(isOwned, ne(requests.status, 'OPEN')))
      .prepare(),
  );
  const isLeased = lazy(() =>
    db
      .select({ id: requests.id })
      .from(requests)
      .where(and(isRelay, not(leaseHasExpired)))
      .prepare(),
  );
  const move = lazyByShape((change: Pick<RelayRecord, 'channelId' | 'credentialId' | 'quota' | 'billing'>) =>
    db
      .update(requests)
      .set({ ...columnPlaceholders(getTableColumns(requests), change), leaseUntilMs })
      .where(isHeld)
      .returning({ id: requests.id })
      .prepare(),
  );
  const ofAnyone = and(isRelay, isOpen, leaseHasExpired);
  const end = (mayEnd: typeof isHeld) =>
    lazyByShape((ending: Partial<RelayRecord>) =>
      db
        .update(requests)
        .set(columnPlaceholders(getTableColumns(requests), ending))
        .where(and(mayEnd, eq(requests.quota, at('reserved'))))
        .returning({ id: requests.id })
        .prepare(),
    );
  const isBilled = and(isRelay, eq(requests.status, 'BILLED'), eq(requests.quota, at('billed')));
  const refundBilled = lazyByShape((ending: Pick<RelayRecord, 'billing' | 'finishedAt'>) =>
    db
      .update(requests)
      .set({ ...columnPlaceholders(getTableColumns(requests), ending), status: 'REFUNDED', quota: 0 })
      .where(isBilled)
      .returning({ id: requests.id })
      .prepare(),
  );
  const rebill = lazyByShape((bill: Pick<RelayRecord, 'quota' | 'billing'>) =>
    db
      .update(requests)
      .set(columnPlaceholders(getTableColumns(requests), bill))
      .where(isBilled)
      .returning({ id: requests.id })
      .prepare(),
  );
  const [endHeld, endExpired] = [end(isHeld), end(ofAnyone)];
  const addObject = lazyByShape((object: RelayObject & ObjectRow) =>
    db
      .insert(objects)
      .values(columnPlaceholders(objectColumns, object) as never)
      .onConflictDoNothing()
      .returning({ id: objects.id })
      .prepare(),
  );
  const isOwn = and(eq(objects.kind, at('kind')), eq(objects.userId, at('userId')));
  const ownObject = lazy(() =>
    db
      .select(objectColumns)
      .from(objects)
      .where(and(eq(objects.objectId, at('objectId')), isOwn))
      .orderBy(desc(objects.id))
      .limit(1)
      .prepare(),
  );
  const ownParts = lazy(() =>
    db
      .select(objectColumns)
      .from(objects)
      .where(and(amongTexts(objects.objectId, 'names'), isOwn))
      .orderBy(asc(objects.id))
      .prepare(),
  );
  const selectObject = lazy(() =>
    db
      .select(objectColumns)
      .from(objects)
      .where(and(eq(objects.relayId, at('theRelay')), inArray(objects.kind, KINDS)))
      .limit(1)
      .prepare(),
  );

  const interrupted = lazy(() =>
    db
      .select()
      .from(requests)
      .where(and(isOpen, leaseHasExpired, not(amongTexts(requests.relayId, 'held'))))
      .orderBy(asc(requests.leaseUntilMs))
      .limit(at('limit'))
      .prepare(),
  );

  return {
    async open({ leaseForMs, ...relay }) {
      const [row] = await open(relay).execute({ ...relay, leaseForMs, ...now() });
      return row as RelayRecord;
    },

    async insertEnded(relay) {
      return (await insertEnded(relay).execute(relay)).length === 1;
    },

    async byRelayId(relayId) {
      const [row] = await byRelayId().execute({ theRelay: relayId });
      return row;
    },

    async renew(relayId, owner, leaseForMs) {
      const renewed = await renew().execute({ theRelay: relayId, theOwner: owner, leaseForMs, ...now() });
      return renewed.length === 1;
    },

    async release(relayId, owner) {
      await release().execute({ theRelay: relayId, theOwner: owner });
    },

    async isDelivered(relayId) {
      return (await isLeased().execute({ theRelay: relayId, ...now() })).length === 0;
    },

    async move(relayId, owner, { leaseForMs, ...change }) {
      const values = { ...change, theRelay: relayId, theOwner: owner, leaseForMs, ...now() };
      return (await move(change).execute(values)).length === 1;
    },

    async end({ relayId, by, reserved }, ending) {
      const written = ending.status === 'REFUNDED' ? { ...ending, leaseUntilMs: 0 } : ending;
      const values = { ...written, theRelay: relayId, reserved, ...now() };
      const ended =
        by === 'anyone_after_expiry'
          ? await endExpired(written).execute(values)
          : await endHeld(written).execute({ ...values, theOwner: by.owner });
      return ended.length === 1;
    },

    async refundBilled(relayId, billed, ending) {
      return (await refundBilled(ending).execute({ ...ending, theRelay: relayId, billed })).length === 1;
    },

    async rebill(relayId, billed, bill) {
      return (await rebill(bill).execute({ ...bill, theRelay: relayId, billed })).length === 1;
    },

    async pageByUser(userId, { after, limit, order }) {
      const start = after === undefined ? undefined : (await byRelayId().execute({ theRelay: after }))[0];
      // A request that was deleted since still says where the next page begins.
      const isListed = start?.userId === userId && FOLLOWED_KINDS.includes(start.kind);
      if (after !== undefined && !isListed) return undefined;
      const isBeyond = start && (order === 'asc' ? gt : lt)(requests.id, start.id);
      return db
        .select()
        .from(requests)
        .where(and(eq(requests.userId, userId), isFollowed, eq(requests.hiddenAt, 0), isBeyond))
        .orderBy((order === 'asc' ? asc : desc)(requests.id))
        .limit(limit);
    },

    async hide(relayId, at) {
      const isShown = and(eq(requests.relayId, relayId), ne(requests.status, 'OPEN'), eq(requests.hiddenAt, 0));
      const hidden = await db.update(requests).set({ hiddenAt: at }).where(isShown).returning({ id: requests.id });
      return hidden.length === 1;
    },

    interrupted: async (limit, held = []) => interrupted().execute({ limit, held: encodeTexts(held), ...now() }),

    async expireLeases() {
      const expired = await db.update(requests).set({ leaseUntilMs: 0 }).where(isOpen).returning({ id: requests.id });
      return expired.length;
    },

    async addObject(object) {
      const row = toRow(object);
      return (await addObject(row).execute(row)).length === 1;
    },

    async addParts(parts) {
      if (parts.length > 0) await db.insert(objects).values(parts.map(toRow)).onConflictDoNothing();
    },

    async ownObject(userId, kind, objectId) {
      const [row] = await ownObject().execute({ userId, kind, objectId: toColumnName(objectId) });
      return toObject<RelayObject>(row);
    },

    async ownParts(userId, kind, names) {
      if (names.length === 0) return [];
      const rows = await ownParts().execute({ userId, kind, names: encodeTexts(names.map(toColumnName)) });
      return rows.flatMap((row) => toObject<RelayObject<RelayPartKind>>(row) ?? []);
    },

    async findObject(relayId) {
      const [row] = await selectObject().execute({ theRelay: relayId });
      return toObject<RelayObject>(row);
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
