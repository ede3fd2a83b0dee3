import { expect, test } from 'bun:test';
import type { SessionRecord, Store } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { describeEachStore, newSession } from './each-store.ts';

const DAY = 86_400;
const NOW = 100 * DAY;
/** Sessions created in the last day count for issuance; revoked ones are kept for seven days. */
const expired = { now: NOW, createdAfter: NOW - DAY, revokedAfter: NOW - 7 * DAY, limit: 1000 };
const revoked = { revokedUntil: NOW - 7 * DAY, createdAfter: NOW - DAY, limit: 1000 };

describeEachStore(
  'session clean-up',
  (opened) => {
    async function addSessions(store: Store, changes: Record<string, Partial<SessionRecord>>): Promise<void> {
      const { id } = await addUser(store);
      for (const [sid, change] of Object.entries(changes))
        await store.sessions.insert(newSession(id, { sid, ...change }));
    }
    async function remaining(store: Store, ...sids: string[]): Promise<string[]> {
      const rows = await Promise.all(sids.map((sid) => store.sessions.bySid(sid)));
      return rows.flatMap((row) => row?.sid ?? []);
    }

    test('expired sessions are deleted unless they count for issuance or were revoked recently', async () => {
      const { store } = opened();
      await addSessions(store, {
        'just-expired': { createdAt: NOW - 30 * DAY, expiresAt: NOW },
        'expired-at-the-edge-of-issuance': { createdAt: NOW - DAY, expiresAt: NOW - 10 },
        'expired-and-revoked-long-ago': {
          createdAt: NOW - 40 * DAY,
          expiresAt: NOW - 10 * DAY,
          status: 'revoked',
          revokedAt: NOW - 7 * DAY,
        },
        'expired-inside-the-issuance-window': { createdAt: NOW - DAY + 1, expiresAt: NOW - 10 },
        'expired-and-revoked-lately': {
          createdAt: NOW - 30 * DAY,
          expiresAt: NOW - 10,
          status: 'revoked',
          revokedAt: NOW - 7 * DAY + 1,
        },
        live: { createdAt: NOW - 30 * DAY, expiresAt: NOW + 1 },
        'revoked-long-ago-and-unexpired': {
          createdAt: NOW - 30 * DAY,
          expiresAt: NOW + 1,
          status: 'revoked',
          revokedAt: NOW - 8 * DAY,
        },
      });
      expect(await store.sessions.deleteExpired(expired)).toBe(3);
      expect(await store.sessions.deleteExpired(expired)).toBe(0);
      const kept = [
        'expired-inside-the-issuance-window',
        'expired-and-revoked-lately',
        'live',
        'revoked-long-ago-and-unexpired',
      ];
      expect(
        await remaining(
          store,
          ...kept,
          'just-expired',
          'expired-at-the-edge-of-issuance',
          'expired-and-revoked-long-ago',
        ),
      ).toEqual(kept);
    });

    test('an expired session is deleted even if the clock shows less than the retention', async () => {
      const { store } = opened();
      await addSessions(store, { early: { createdAt: 10, expiresAt: 20 } });
      const rows = { now: 100, createdAfter: 50, revokedAfter: 100 - 7 * DAY, limit: 10 };
      expect(await store.sessions.deleteExpired(rows)).toBe(1);
    });

    test('revoked sessions past the retention are deleted unless they count for issuance, expired or not', async () => {
      const { store } = opened();
      const old = { createdAt: NOW - 30 * DAY, expiresAt: NOW + 1, status: 'revoked' } as const;
      await addSessions(store, {
        'past-the-retention': { ...old, revokedAt: NOW - 7 * DAY },
        'past-the-retention-and-expired': { ...old, revokedAt: NOW - 7 * DAY, expiresAt: NOW - 1 },
        younger: { ...old, revokedAt: NOW - 7 * DAY + 1 },
        'younger-and-expired': { ...old, revokedAt: NOW - 1, expiresAt: NOW - 2 },
        'counts-for-issuance': { ...old, createdAt: NOW - DAY + 1, revokedAt: NOW - 7 * DAY },
        live: { createdAt: NOW - 30 * DAY, expiresAt: NOW + 1 },
      });
      expect(await store.sessions.deleteRevoked(revoked)).toBe(2);
      expect(await store.sessions.deleteRevoked(revoked)).toBe(0);
      const kept = ['younger', 'younger-and-expired', 'counts-for-issuance', 'live'];
      expect(await remaining(store, ...kept, 'past-the-retention', 'past-the-retention-and-expired')).toEqual(kept);
    });

    test('deletes in batches, and two concurrent clean-ups delete each session once', async () => {
      const { store, openAnother } = opened();
      const other = await openAnother();
      const { id } = await addUser(store);
      await store.transaction(async (tx) => {
        for (let i = 0; i < 60; i += 1) {
          const change = i < 30 ? {} : ({ status: 'revoked', revokedAt: 2 * DAY, expiresAt: NOW + 1 } as const);
          await tx.sessions.insert(newSession(id, change));
        }
      });
      expect(await store.sessions.deleteExpired({ ...expired, limit: 10 })).toBe(10);
      expect(await store.sessions.deleteRevoked({ ...revoked, limit: 10 })).toBe(10);
      let deleted = 20;
      for (let last = 1; last > 0; deleted += last) {
        const batches = [store, other].flatMap(({ sessions }) => [
          sessions.deleteExpired({ ...expired, limit: 7 }),
          sessions.deleteRevoked({ ...revoked, limit: 7 }),
        ]);
        const numbers = await Promise.all(batches);
        expect(Math.max(...numbers)).toBeLessThanOrEqual(7);
        last = numbers.reduce((sum, n) => sum + n);
      }
      expect(deleted).toBe(60);
    });

    test('counts the sessions of all users', async () => {
      const { store } = opened();
      expect(await store.sessions.countAllIssued(0)).toBe(0);
      await addSessions(store, { a: { createdAt: 100 }, b: { createdAt: 101, status: 'revoked' } });
      await addSessions(store, { c: { createdAt: 102, expiresAt: 103 } });
      expect(await store.sessions.countAllIssued(99)).toBe(3);
      expect(await store.sessions.countAllIssued(100)).toBe(2);
    });
  },
  { fresh: 'test' },
);
