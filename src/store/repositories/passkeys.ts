import { and, asc, eq, sql } from 'drizzle-orm';
import type { PasskeyStore } from '../ports/index.ts';
import { type Context, lazy } from './context.ts';

export function createPasskeyStore({ db, tables }: Context): PasskeyStore {
  const { passkeys } = tables;
  const isOwn = (id: number, userId: number) => and(eq(passkeys.id, id), eq(passkeys.userId, userId));
  const list = lazy(() =>
    db
      .select()
      .from(passkeys)
      .where(eq(passkeys.userId, sql.placeholder('userId')))
      .orderBy(asc(passkeys.id))
      .prepare(),
  );
  const byCredentialId = lazy(() =>
    db
      .select()
      .from(passkeys)
      .where(eq(passkeys.credentialId, sql.placeholder('credentialId')))
      .prepare(),
  );

  return {
    async insert(passkey) {
      const [row] = await db
        .insert(passkeys)
        .values(passkey)
        .onConflictDoNothing({ target: passkeys.credentialId })
        .returning();
      return row;
    },

    async byCredentialId(credentialId) {
      const [row] = await byCredentialId().execute({ credentialId });
      return row;
    },

    list: (userId) => list().execute({ userId }),

    async use(id, { expectedCounter, counter, backedUp, at }) {
      const used = await db
        .update(passkeys)
        .set({ counter, backedUp, lastUsedAt: at })
        .where(and(eq(passkeys.id, id), eq(passkeys.counter, expectedCounter)))
        .returning({ id: passkeys.id });
      return used.length === 1;
    },

    async rename(id, userId, name) {
      const [row] = await db.update(passkeys).set({ name }).where(isOwn(id, userId)).returning();
      return row;
    },

    async delete(id, userId) {
      const deleted = await db.delete(passkeys).where(isOwn(id, userId)).returning({ id: passkeys.id });
      return deleted.length === 1;
    },

    async deleteAll(userId) {
      const deleted = await db.delete(passkeys).where(eq(passkeys.userId, userId)).returning({ id: passkeys.id });
      return deleted.length;
    },
  };
}
