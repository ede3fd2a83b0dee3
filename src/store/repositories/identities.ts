import { asc, eq } from 'drizzle-orm';
import type { IdentityStore } from '../ports/index.ts';
import type { Context } from './context.ts';

export function createIdentityStore({ db, tables }: Context): IdentityStore {
  const { externalIdentityClaims: claims } = tables;
  return {
    list: async (userId) =>
      db
        .select({
          provider: claims.provider,
          subject: claims.subject,
          userId: claims.userId,
          createdAt: claims.createdAt,
        })
        .from(claims)
        .where(eq(claims.userId, userId))
        .orderBy(asc(claims.provider)),
  };
}
