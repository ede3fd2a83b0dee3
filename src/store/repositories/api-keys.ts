import { and, asc, desc, eq, gt, inArray, isNotNull, isNull, or, sql } from 'drizzle-orm';
import { type ApiKeyStore, STATUS } from '../ports/index.ts';
import { type Context, countAll, isEmpty, lazy, paged } from './context.ts';

export function createApiKeyStore({ db, tables }: Context): ApiKeyStore {
  const { apiKeys: keys, users } = tables;
  const columns = {
    id: keys.id,
    userId: keys.userId,
    name: keys.name,
    keyHash: keys.keyHash,
    prefix: keys.prefix,
    status: keys.status,
    unlimitedQuota: keys.unlimitedQuota,
    quota: keys.quota,
    usedQuota: keys.usedQuota,
    models: keys.models,
    allowIps: keys.allowIps,
    expiresAt: keys.expiresAt,
    group: keys.group,
    webhookUrl: keys.webhookUrl,
    webhookSecretSealed: keys.webhookSecretSealed,
    webhookFormers: keys.webhookFormers,
    keepResults: keys.keepResults,
    createdAt: keys.createdAt,
    lastUsedAt: keys.lastUsedAt,
  };
  const { keyHash, prefix, webhookFormers, createdAt, ...presented } = columns;
  const owner = { id: users.id, role: users.role, status: users.status, group: users.group };
  const byHash = lazy(() =>
    db
      .select({ key: presented, user: owner })
      .from(keys)
      .innerJoin(users, and(eq(users.id, keys.userId), eq(users.deletedAt, 0)))
      .where(eq(keys.keyHash, sql.placeholder('keyHash')))
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
      .set({ lastUsedAt: sql`${sql.placeholder('at')}` })
      .where(eq(keys.id, sql.placeholder('id')))
      .prepare(),
  );

  return {
    async insert(key) {
      const [row] = await db.insert(keys).values(key).returning(columns);
      return row as NonNullable<typeof row>;
    },

    async byHash(keyHash) {
      const [row] = await byHash().execute({ keyHash });
      return row;
    },

    async byId(id) {
      const [row] = await byId().execute({ id });
      return row;
    },

    async usable(ids, now) {
      const rows = await db
        .select({ id: keys.id })
        .from(keys)
        .innerJoin(users, and(eq(users.id, keys.userId), eq(users.deletedAt, 0), eq(users.status, STATUS.enabled)))
        .where(
          and(
            inArray(keys.id, [...ids]),
            eq(keys.status, STATUS.enabled),
            or(eq(keys.expiresAt, 0), gt(keys.expiresAt, now)),
          ),
        );
      return rows.map(({ id }) => id);
    },

    list(userId, page) {
      const own = eq(keys.userId, userId);
      return paged(page, db.select({ total: countAll() }).from(keys).where(own), (limit, offset) =>
        db.select(columns).from(keys).where(own).orderBy(desc(keys.id)).limit(limit).offset(offset),
      );
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

    async touch(id, at) {
      await touch().execute({ id, at });
    },
  };
}
