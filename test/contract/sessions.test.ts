import { expect, test } from 'bun:test';
import type { SessionRecord, Store } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { describeEachStore, newSession } from './each-store.ts';
import { deleteUser } from './open-raw.ts';

const rotation = (session: SessionRecord, newHash: string) => ({
  sid: session.sid,
  expectedHash: session.refreshHash,
  expectedVersion: session.version,
  expectedUserAuthVersion: session.userAuthVersion,
  newHash,
  previousValidUntil: 2030,
  ip: '198.51.100.7',
  addressKey: '198.51.100.7',
  userAgent: 'newer',
  now: 2000,
});

describeEachStore('sessions', (opened) => {
  async function addSession(store: Store, change: Partial<SessionRecord> = {}): Promise<SessionRecord> {
    const session = newSession((await addUser(store)).id, change);
    await store.sessions.insert(session);
    return session;
  }

  test('is read as stored; an unknown one is undefined', async () => {
    const { store } = opened();
    const session = await addSession(store, { previousRefreshHash: 'a'.repeat(64) });
    expect(await store.sessions.bySid(session.sid)).toEqual(session);
    expect(await store.sessions.bySid('unknown')).toBeUndefined();
  });

  test('is read with its present user, and without one after the user is deleted', async () => {
    const { store } = opened();
    const session = await addSession(store, { previousRefreshHash: 'abc   ' });
    await store.users.moveAuthVersion(session.userId, 1);
    const user = await store.users.byId(session.userId);
    expect(await store.sessions.withUser(session.sid)).toEqual({
      session: { ...session, previousRefreshHash: 'abc' },
      user: user as NonNullable<typeof user>,
    });
    expect(await store.sessions.withUser('unknown')).toBeUndefined();
    await deleteUser(opened(), session.userId);
    expect(await store.sessions.withUser(session.sid)).toBeUndefined();
  });

  test('is usable while active and unexpired, with an enabled user and an unchanged auth version', async () => {
    const { store } = opened();
    const now = 2000;
    const good = await addSession(store, { expiresAt: now + 1 });
    const expired = await addSession(store, { expiresAt: now });
    const revoked = await addSession(store, { expiresAt: now + 1 });
    await store.sessions.revoke(revoked.sid, 'test', now);
    const moved = await addSession(store, { expiresAt: now + 1 });
    await store.users.moveAuthVersion(moved.userId, 1);
    const off = newSession((await addUser(store, { status: 2 })).id, { expiresAt: now + 1 });
    await store.sessions.insert(off);
    const sids = [good, expired, revoked, moved, off].map(({ sid }) => sid);
    expect(await store.sessions.usable([...sids, 'unknown'], now)).toEqual([good.sid]);
  });

  test('a previous hash that an older column padded is read without its blanks', async () => {
    const { store } = opened();
    const session = await addSession(store, { previousRefreshHash: 'abc   ' });
    expect((await store.sessions.bySid(session.sid))?.previousRefreshHash).toBe('abc');
  });

  test('rotation swaps the hash, keeps the old one and stores address and browser', async () => {
    const { store } = opened();
    const session = await addSession(store);
    expect(await store.sessions.rotate(rotation(session, 'next'))).toBe(true);
    expect(await store.sessions.bySid(session.sid)).toEqual({
      ...session,
      refreshHash: 'next',
      previousRefreshHash: session.refreshHash,
      previousValidUntil: 2030,
      lastActiveAt: 2000,
      ip: '198.51.100.7',
      addressKey: '198.51.100.7',
      userAgent: 'newer',
    });
  });

  test('of 50 concurrent rotations of one token, one wins', async () => {
    const { store } = opened();
    const session = await addSession(store);
    const won = await Promise.all(
      Array.from({ length: 50 }, (_, i) => store.sessions.rotate(rotation(session, `n${i}`))),
    );
    expect(won.filter(Boolean)).toHaveLength(1);
    expect((await store.sessions.bySid(session.sid))?.refreshHash).toBe(`n${won.indexOf(true)}`);
  });

  test.each([
    ['revoked', { status: 'revoked' }, {}],
    ['expired', { expiresAt: 2000 }, {}],
    ['already rotated', {}, { expectedHash: 'former' }],
    ['newer', { version: 2 }, { expectedVersion: 1 }],
    ['since carried over', { userAuthVersion: 2 }, { expectedUserAuthVersion: 1 }],
  ] as const)('a %s session does not rotate', async (_, change, expected) => {
    const { store } = opened();
    const session = await addSession(store, change);
    expect(await store.sessions.rotate({ ...rotation(session, 'next'), ...expected })).toBe(false);
    expect(await store.sessions.bySid(session.sid)).toEqual(session);
  });

  test('moves to a new auth version once, from the versions it had', async () => {
    const { store } = opened();
    const session = await addSession(store);
    const change = { sid: session.sid, expectedVersion: 1, expectedUserAuthVersion: 1, userAuthVersion: 2, now: 2000 };
    expect((await Promise.all([1, 2, 3].map(() => store.sessions.advance(change)))).filter(Boolean)).toHaveLength(1);
    expect(await store.sessions.bySid(session.sid)).toMatchObject({
      version: 2,
      userAuthVersion: 2,
      refreshHash: session.refreshHash,
    });
    const again = { ...change, expectedVersion: 2, expectedUserAuthVersion: 2 };
    // Expired, changed since it was read, or of a user who has changed since.
    expect(await store.sessions.advance({ ...again, now: 5000 })).toBe(false);
    expect(await store.sessions.advance({ ...again, expectedVersion: 1 })).toBe(false);
    expect(await store.sessions.advance({ ...again, expectedUserAuthVersion: 1 })).toBe(false);
    expect(await store.sessions.advance(again)).toBe(true);
  });

  test('a use is stored on an active session and never moves its time back', async () => {
    const { store } = opened();
    const [active, ended] = [await addSession(store), await addSession(store, { status: 'revoked' })];
    for (const { sid } of [active, ended]) await store.sessions.touch(sid, 2000);
    await store.sessions.touch(active.sid, 1500);
    expect(await store.sessions.bySid(active.sid)).toEqual({ ...active, lastActiveAt: 2000 });
    expect(await store.sessions.bySid(ended.sid)).toEqual(ended);
  });

  test('revocation happens once; revoking all spares one and other users', async () => {
    const { store } = opened();
    const user = await addUser(store);
    const mine = [newSession(user.id), newSession(user.id), newSession(user.id)];
    for (const session of mine) await store.sessions.insert(session);
    const [first, kept, third] = mine.map(({ sid }) => sid) as [string, string, string];
    const stranger = await addSession(store);

    expect(await store.sessions.revoke(first, 'logout', 3000)).toBe(true);
    expect(await store.sessions.revoke(first, 'again', 3001)).toBe(false);
    expect(await store.sessions.bySid(first)).toMatchObject({
      status: 'revoked',
      revokedAt: 3000,
      revokedReason: 'logout',
    });
    expect(await store.sessions.revokeAll({ userId: user.id, exceptSid: kept, reason: 'password', now: 3002 })).toEqual(
      [third],
    );
    expect(await store.sessions.revokeAll({ userId: user.id, exceptSid: null, reason: 'password', now: 3003 })).toEqual(
      [kept],
    );
    expect((await store.sessions.bySid(stranger.sid))?.status).toBe('active');
  });

  test('counts and lists sessions as the limits and the account page need', async () => {
    const { store } = opened();
    const { id } = await addUser(store);
    for (const change of [
      { sid: `${id}-a`, lastActiveAt: 10 },
      { sid: `${id}-b`, lastActiveAt: 30 },
      { sid: `${id}-older-auth`, userAuthVersion: 0 },
      { sid: `${id}-expired`, expiresAt: 2000 },
      { sid: `${id}-revoked`, status: 'revoked' as const, createdAt: 500 },
    ]) {
      await store.sessions.insert(newSession(id, change));
    }
    expect(await store.sessions.countActive(id, 2000)).toBe(3);
    expect(await store.sessions.countIssued(id, 499)).toBe(5);
    expect(await store.sessions.countIssued(id, 500)).toBe(4);
    expect(await store.sessions.countIssued(id, 499, 500)).toBe(1);
    const listed = await store.sessions.list({ userId: id, authVersion: 1, now: 2000, limit: 100 });
    expect(listed.map(({ sid }) => sid)).toEqual([`${id}-b`, `${id}-a`]);
    expect(await store.sessions.list({ userId: id, authVersion: 1, now: 2000, limit: 1 })).toHaveLength(1);
    const active = await store.sessions.active(id, 2000);
    expect(active.sort((a, b) => a.sid.localeCompare(b.sid))).toEqual(
      ['a', 'b', 'older-auth'].map((name) => ({ sid: `${id}-${name}`, expiresAt: 5000 })),
    );
  });
});
