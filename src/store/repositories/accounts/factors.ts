import { and, asc, eq, gt, inArray, isNull, lt, lte, or, sql } from 'drizzle-orm';
import { CLOCK_LEEWAY_SECONDS } from '../../../kernel/index.ts';
import type { PasskeyStore, TwoFactorStore } from '../../ports/index.ts';
import { atomic, type Context, lazy } from '../context.ts';
import { columnPlaceholder, countAll } from '../prepare-by-shape.ts';

/**
 * Time steps (of 30 s) that a used one may be ahead of a code that is right: that of a clock which
 * was a little ahead, and a step of skew on either side. One that is further ahead was used before
 * the clock was set back.
 */
const LEEWAY_STEPS = CLOCK_LEEWAY_SECONDS / 30 + 2;

/**
 * `delete` and `replaceBackupCodes` take several statements. Outside a transaction the store opens
 * one for them.
 */
export function createTwoFactorStore({ db, tables, lockName, now: storeNow }: Context): TwoFactorStore {
  const { twoFactor: factors, backupCodes: codes } = tables;
  // Replacements of a user's backup codes happen one at a time, or two sets would stay.
  const lockCodes = (userId: number) => lockName(`backup codes ${userId}`);
  const byUser = lazy(() =>
    db
      .select()
      .from(factors)
      .where(eq(factors.userId, sql.placeholder('userId')))
      .prepare(),
  );
  const at = sql.placeholder;
  const ofUser = eq(factors.userId, at('userId'));
  const countAttempt = lazy(() =>
    db
      .update(factors)
      .set({
        failures: sql`${factors.failures} + 1`,
        lockedUntil: sql`case when ${factors.failures} + 1 >= ${columnPlaceholder('limit', factors.failures)} then ${columnPlaceholder('lockedUntil', factors.lockedUntil)} else ${factors.lockedUntil} end`,
      })
      .where(and(ofUser, or(lte(factors.lockedUntil, at('now')), gt(factors.lockedUntil, at('longestUntil')))))
      .returning({ failures: factors.failures })
      .prepare(),
  );
  const useStep = lazy(() =>
    db
      .update(factors)
      .set({ lastStep: columnPlaceholder('step', factors.lastStep), failures: sql`0`, lockedUntil: sql`0` })
      .where(and(ofUser, or(lt(factors.lastStep, at('step')), gt(factors.lastStep, at('longestStep')))))
      .returning({ userId: factors.userId })
      .prepare(),
  );
  const clearAttempts = lazy(() =>
    db.update(factors).set({ failures: sql`0`, lockedUntil: sql`0` }).where(ofUser).prepare(),
  );
  const unused = (userId: number) => and(eq(codes.userId, userId), isNull(codes.usedAt));

  return {
    async byUser(userId) {
      const [row] = await byUser().execute({ userId });
      return row;
    },

    enabledAfter: async (userId, limit) =>
      db
        .select({ userId: factors.userId, secretSealed: factors.secretSealed })
        .from(factors)
        .where(and(gt(factors.userId, userId), eq(factors.enabled, true)))
        .orderBy(asc(factors.userId))
        .limit(limit),

    async begin(setup) {
      const fresh = { ...setup, enabled: false, lastStep: 0, failures: 0, lockedUntil: 0 };
      const written = await db
        .insert(factors)
        .values(fresh)
        .onConflictDoUpdate({ target: factors.userId, set: fresh, setWhere: eq(factors.enabled, false) })
        .returning({ userId: factors.userId });
      return written.length === 1;
    },

    async enable(userId, secretSealed, at) {
      const enabled = await db
        .update(factors)
        .set({ enabled: true, createdAt: at })
        .where(and(eq(factors.userId, userId), eq(factors.enabled, false), eq(factors.secretSealed, secretSealed)))
        .returning({ userId: factors.userId });
      return enabled.length === 1;
    },

    delete: atomic(async (userId) => {
      await lockCodes(userId);
      const deleted = await db.delete(factors).where(eq(factors.userId, userId)).returning({ userId: factors.userId });
      await db.delete(codes).where(eq(codes.userId, userId));
      return deleted.length === 1;
    }),

    async countAttempt(userId, { now, limit, lockSeconds }) {
      const [counted] = await countAttempt().execute({
        // The deadlines move with the clock before another one is written.
        ...storeNow(),
        userId,
        now,
        limit,
        lockedUntil: now + lockSeconds,
        longestUntil: now + lockSeconds + CLOCK_LEEWAY_SECONDS,
      });
      return counted?.failures;
    },

    async useStep(userId, step) {
      return (await useStep().execute({ userId, step, longestStep: step + LEEWAY_STEPS })).length === 1;
    },

    async giveBackAttempt(userId) {
      await db
        .update(factors)
        .set({ failures: sql`${factors.failures} - 1`, lockedUntil: 0 })
        .where(and(eq(factors.userId, userId), gt(factors.failures, 0)));
    },

    async clearAttempts(userId) {
      await clearAttempts().execute({ userId });
    },

    replaceBackupCodes: atomic(async (userId, hashes, createdAt) => {
      await lockCodes(userId);
      await db.delete(codes).where(eq(codes.userId, userId));
      if (hashes.length > 0) await db.insert(codes).values(hashes.map((codeHash) => ({ userId, codeHash, createdAt })));
    }),

    async useBackupCode(userId, candidateHashes, now) {
      const one = db
        .select({ id: codes.id })
        .from(codes)
        .where(and(unused(userId), inArray(codes.codeHash, [...candidateHashes])))
        .limit(1);
      const used = await db
        .update(codes)
        .set({ usedAt: now })
        // A caller that waited for another use of the same code finds it used.
        .where(and(eq(codes.id, one), isNull(codes.usedAt)))
        .returning({ id: codes.id });
      return used.length === 1;
    },

    async countBackupCodes(userId) {
      const [row] = await db.select({ total: countAll() }).from(codes).where(unused(userId));
      return row?.total ?? 0;
    },
  };
}

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
