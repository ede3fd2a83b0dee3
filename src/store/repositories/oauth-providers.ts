import { and, asc, eq, notExists, sql } from 'drizzle-orm';
import type { OAuthProviderStore } from '../ports/index.ts';
import { type Context, isEmpty } from './context.ts';

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
