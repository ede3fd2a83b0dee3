import { and, asc, eq, notExists, or, sql } from 'drizzle-orm';
import type { IdentityStore, OAuthProviderStore } from '../../ports/index.ts';
import { type Context, isEmpty, lazy, separate } from '../context.ts';
import { countAll } from '../prepare-by-shape.ts';

export function createIdentityStore({ db, tables, statement, lockRows }: Context): IdentityStore {
  const { externalIdentityClaims: claims } = tables;
  const columns = {
    provider: claims.provider,
    subject: claims.subject,
    userId: claims.userId,
    createdAt: claims.createdAt,
  };
  const at = sql.placeholder;
  const list = lazy(() =>
    db
      .select(columns)
      .from(claims)
      .where(eq(claims.userId, at('userId')))
      .orderBy(asc(claims.provider))
      .prepare(),
  );
  const owner = lazy(() =>
    db
      .select(columns)
      .from(claims)
      .where(and(eq(claims.provider, at('provider')), eq(claims.subject, at('subject'))))
      .prepare(),
  );

  return {
    claim: separate(async ({ provider, subject, userId, createdAt }) => {
      // Locks the user's row. A concurrent deletion either precedes this and is seen, or follows it
      // and frees the claim.
      const written = await statement(sql`
        insert into external_identity_claims (provider, subject, user_id, created_at)
        select ${provider}, ${subject}, id, ${createdAt} from users where id = ${userId} and deleted_at = 0 ${lockRows}
        on conflict do nothing returning id`);
      if (written.length === 1) return 'ok';
      const conflicting = await db
        .select(columns)
        .from(claims)
        .where(and(eq(claims.provider, provider), or(eq(claims.subject, subject), eq(claims.userId, userId))));
      const holder = conflicting.find((claim) => claim.subject === subject);
      if (holder) return holder.userId === userId ? 'ok' : 'taken';
      // Without a conflicting claim, the holder has just released it, or the user is gone.
      return conflicting.length > 0 ? 'user_has_one' : 'taken';
    }),

    async owner(provider, subject) {
      const [row] = await owner().execute({ provider, subject });
      return row;
    },

    async release(userId, provider) {
      const released = await db
        .delete(claims)
        .where(and(eq(claims.userId, userId), eq(claims.provider, provider)))
        .returning({ id: claims.id });
      return released.length === 1;
    },

    async releaseAll(userId) {
      const released = await db.delete(claims).where(eq(claims.userId, userId)).returning({ id: claims.id });
      return released.length;
    },

    async countProvider(provider) {
      const [row] = await db.select({ total: countAll() }).from(claims).where(eq(claims.provider, provider));
      return row?.total ?? 0;
    },

    list: (userId) => list().execute({ userId }),
  };
}

export function createOAuthProviderStore({ db, tables, statement, lockRows }: Context): OAuthProviderStore {
  const { oauthProviders: providers, externalIdentityClaims: claims } = tables;

  return {
    all: async () => db.select().from(providers).orderBy(asc(providers.id)),

    async bySlug(slug) {
      const [row] = await db.select().from(providers).where(eq(providers.slug, slug));
      return row;
    },

    async lock(id) {
      await statement(sql`select id from ${providers} where id = ${id} ${lockRows}`);
      const [row] = await db.select().from(providers).where(eq(providers.id, id));
      return row;
    },

    async insert(provider) {
      const [row] = await db
        .insert(providers)
        .values(provider)
        .onConflictDoNothing({ target: providers.slug })
        .returning();
      return row;
    },

    async update(id, change) {
      const [row] = isEmpty(change)
        ? await db.select().from(providers).where(eq(providers.id, id))
        : await db.update(providers).set(change).where(eq(providers.id, id)).returning();
      return row;
    },

    async delete(id) {
      const bound = db.select({ one: sql`1` }).from(claims).where(eq(claims.provider, providers.slug));
      const deleted = await db
        .delete(providers)
        .where(and(eq(providers.id, id), notExists(bound)))
        .returning({ id: providers.id });
      return deleted.length === 1;
    },
  };
}
