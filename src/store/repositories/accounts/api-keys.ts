import {
  and,
  asc,
  desc,
  eq,
  gt,
  inArray,
  isNotNull,
  isNull,
  lte,
  ne,
  or,
  type SQL,
  type SQLWrapper,
  sql,
} from 'drizzle-orm';
import { CLOCK_LEEWAY_SECONDS, isOver } from '../../../kernel/index.ts';
import { type ApiKeyStore, LONGEST_FORMER_SECONDS, STATUS } from '../../ports/index.ts';
import { type Context, containsText, isEmpty, lazy } from '../context.ts';
import { createPages } from '../prepare-by-shape.ts';

/** No replaced key works longer from now, whatever a clock that was ahead has written. */
const LONGEST_FORMER = sql.raw(String(LONGEST_FORMER_SECONDS + CLOCK_LEEWAY_SECONDS));

/** Whether one begins with the other: a row has the beginning of its key, and so may a search. */
const beginsAs = (prefix: SQLWrapper, text: string): SQL =>
  sql`(${prefix} <> '' and substr(${text}, 1, length(${prefix})) = substr(${prefix}, 1, ${text.length}))`;

const noFormer = { formerHash: '', formerPrefix: '', formerUntil: 0 };

export function createApiKeyStore(context: Context): ApiKeyStore {
  const { db, tables, lookUp } = context;
  const { apiKeys: keys, users } = tables;
  const columns = {
    id: keys.id,
    userId: keys.userId,
    walletId: keys.walletId,
    name: keys.name,
    keyHash: keys.keyHash,
    prefix: keys.prefix,
    formerHash: keys.formerHash,
    formerPrefix: keys.formerPrefix,
    formerUntil: keys.formerUntil,
    status: keys.status,
    unlimitedQuota: keys.unlimitedQuota,
    quota: keys.quota,
    usedQuota: keys.usedQuota,
    budget: keys.budget,
    requestsPerMinute: keys.requestsPerMinute,
    maxRunning: keys.maxRunning,
    models: keys.models,
    allowIps: keys.allowIps,
    expiresAt: keys.expiresAt,
    group: keys.group,
    webhookUrl: keys.webhookUrl,
    webhookSecretSealed: keys.webhookSecretSealed,
    webhookFormers: keys.webhookFormers,
    keepResults: keys.keepResults,
    storeRequests: keys.storeRequests,
    createdAt: keys.createdAt,
    lastUsedAt: keys.lastUsedAt,
    lastUsedIp: keys.lastUsedIp,
  };
  const pages = createPages(context, (_filter: { userId: number }) => {
    const own = eq(keys.userId, sql.placeholder('userId'));
    return {
      from: keys,
      where: own,
      items: db.select(columns).from(keys).where(own).orderBy(desc(keys.id)),
    };
  });
  const {
    keyHash,
    prefix,
    formerHash,
    formerPrefix,
    formerUntil,
    webhookFormers,
    createdAt,
    lastUsedIp,
    ...presented
  } = columns;
  const { requestsPerMinute, maxRunning } = users;
  const rights = { id: users.id, role: users.role, status: users.status, group: users.group };
  const owner = { ...rights, requestsPerMinute, maxRunning };
  const withOwner = () =>
    db
      .select({ sought: keys.keyHash, key: presented, user: owner })
      .from(keys)
      .innerJoin(users, and(eq(users.id, keys.userId), eq(users.deletedAt, 0)));
  const byHash = lookUp((isSought) => withOwner().where(isSought(keys.keyHash)).prepare());
  const byFormerHash = lazy(() =>
    withOwner()
      .where(
        and(
          eq(keys.formerHash, sql.placeholder('keyHash')),
          sql`${keys.formerUntil} > ${sql.placeholder('now')} and ${keys.formerUntil} - ${LONGEST_FORMER} <= ${sql.placeholder('now')}`,
        ),
      )
      .prepare(),
  );
  const byId = lazy(() =>
    db
      .select(columns)
      .from(keys)
      .where(eq(keys.id, sql.placeholder('id')))
      .prepare(),
  );
  const touch = lazy(() =>
    db
      .update(keys)
      .set({ lastUsedAt: sql`${sql.placeholder('at')}`, lastUsedIp: sql`${sql.placeholder('ip')}` })
      .where(eq(keys.id, sql.placeholder('id')))
      .prepare(),
  );

  return {
    async insert(key) {
      const [row] = await db.insert(keys).values(key).returning(columns);
      return row as NonNullable<typeof row>;
    },

    // A key only ever moves from current to replaced, so asking in this order misses none.
    async byHash(keyHash, now) {
      const found = (await byHash(keyHash))[0] ?? (await byFormerHash().execute({ keyHash, now }))[0];
      return found && { key: found.key, user: found.user };
    },

    async byId(id) {
      const [row] = await byId().execute({ id });
      return row;
    },

    async usable(keyHashes, now) {
      const asked = [...keyHashes];
      const rows = await db
        .select({ current: keys.keyHash, former: keys.formerHash, formerUntil: keys.formerUntil })
        .from(keys)
        .innerJoin(users, and(eq(users.id, keys.userId), eq(users.deletedAt, 0), eq(users.status, STATUS.enabled)))
        .where(
          and(
            or(inArray(keys.keyHash, asked), inArray(keys.formerHash, asked)),
            eq(keys.status, STATUS.enabled),
            or(eq(keys.expiresAt, 0), gt(keys.expiresAt, now)),
          ),
        );
      const usable = new Set(
        rows.flatMap(({ current, former, formerUntil }) =>
          isOver(formerUntil, { now, longest: LONGEST_FORMER_SECONDS }) ? [current] : [current, former],
        ),
      );
      return asked.filter((hash) => usable.has(hash));
    },

    list: (userId, page) => pages({ userId }, page),

    names({ userId, id, keyword, firstOf }, limit) {
      const ofKeyword = keyword
        ? or(
            containsText(context, keys.name, keyword),
            keyword.startsWith('sk-')
              ? or(beginsAs(keys.prefix, keyword), beginsAs(keys.formerPrefix, keyword))
              : undefined,
            userId === undefined ? containsText(context, users.username, keyword) : undefined,
            /^\d{1,15}$/.test(keyword) ? eq(keys.id, Number(keyword)) : undefined,
          )
        : undefined;
      return db
        .select({
          ...{ id: keys.id, name: keys.name, userId: keys.userId, username: users.username, role: users.role },
          ...{ lastUsedAt: keys.lastUsedAt, lastUsedIp: keys.lastUsedIp },
        })
        .from(keys)
        .innerJoin(users, eq(users.id, keys.userId))
        .where(
          and(
            userId === undefined ? undefined : eq(keys.userId, userId),
            id === undefined ? undefined : eq(keys.id, id),
            ofKeyword,
          ),
        )
        .orderBy(sql`case when ${keys.userId} = ${firstOf} then 0 else 1 end`, desc(keys.id))
        .limit(limit);
    },

    async update(id, userId, change) {
      const own = and(eq(keys.id, id), eq(keys.userId, userId));
      const [row] = isEmpty(change)
        ? await db.select(columns).from(keys).where(own)
        : await db.update(keys).set(change).where(own).returning(columns);
      return row;
    },

    async rotateWebhookSecret(id, userId, { present, sealed, formers }) {
      const isThere = present === null ? isNull(keys.webhookSecretSealed) : eq(keys.webhookSecretSealed, present);
      const [row] = await db
        .update(keys)
        .set({ webhookSecretSealed: sealed, webhookFormers: formers })
        .where(and(eq(keys.id, id), eq(keys.userId, userId), isThere))
        .returning(columns);
      return row;
    },

    async rotate(id, userId, { presentHash, keyHash, prefix, formerUntil, keepsFormer }) {
      const replaced = keepsFormer ? {} : { formerHash: presentHash, formerPrefix: sql`${keys.prefix}` };
      // A replaced key that has just ended cannot be kept.
      const hasFormer = keepsFormer ? ne(keys.formerHash, '') : undefined;
      const [row] = await db
        .update(keys)
        .set({ keyHash, prefix, ...replaced, formerUntil })
        .where(and(eq(keys.id, id), eq(keys.userId, userId), eq(keys.keyHash, presentHash), hasFormer))
        .returning(columns);
      return row;
    },

    async endFormer(id, userId, formerPrefix) {
      const isIt = formerPrefix === undefined ? undefined : eq(keys.formerPrefix, formerPrefix);
      const [row] = await db
        .update(keys)
        .set(noFormer)
        .where(and(eq(keys.id, id), eq(keys.userId, userId), isIt))
        .returning(columns);
      return row;
    },

    async forgetFormers(now, limit) {
      const ended = sql`(select ${keys.id} from ${keys} where ${keys.formerHash} <> '' and ${keys.formerUntil} <= ${now} limit ${limit})`;
      const rows = await db
        .update(keys)
        .set(noFormer)
        .where(and(inArray(keys.id, ended), lte(keys.formerUntil, now)))
        .returning({ id: keys.id });
      return rows.length;
    },

    async withWebhookSecret(id, limit) {
      const rows = await db
        .select({ id: keys.id, name: keys.name, sealed: keys.webhookSecretSealed })
        .from(keys)
        .where(and(gt(keys.id, id), isNotNull(keys.webhookSecretSealed)))
        .orderBy(asc(keys.id))
        .limit(limit);
      return rows.map((row) => ({ ...row, sealed: row.sealed ?? '' }));
    },

    async delete(id, userId) {
      const deleted = await db
        .delete(keys)
        .where(and(eq(keys.id, id), eq(keys.userId, userId)))
        .returning({ id: keys.id });
      return deleted.length === 1;
    },

    async deleteAll(userId) {
      const deleted = await db.delete(keys).where(eq(keys.userId, userId)).returning({ id: keys.id });
      return deleted.length;
    },

    async touch(id, use) {
      await touch().execute({ id, ...use });
    },
  };
}
