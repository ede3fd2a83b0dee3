import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { createSessionRegistry, type SessionRegistry } from '../../src/auth/sessions/session-registry.ts';
import { newUuid, silentLogger, systemClock } from '../../src/kernel/index.ts';
import type { SessionRecord, UserRecord } from '../../src/store/ports/index.ts';
import { newSession } from '../contract/each-store.ts';
import { addUser } from '../support/add-user.ts';
import { testConfig } from './harness.ts';
import { createTestClock } from './test-clock.ts';
import { openTwoNodes, type TwoNodes } from './two-nodes.ts';

describe('ending all sessions of a user, and what the cache learns', () => {
  let nodes: TwoNodes;
  let registry: SessionRegistry;
  let user: UserRecord;

  beforeAll(async () => {
    const clock = createTestClock();
    nodes = await openTwoNodes({ dialect: 'sqlite', topology: 'shared', ttlSeconds: 60, clock });
    await Promise.all([nodes.a.believes(), nodes.b.believes()]);
    const { store, cache } = nodes.a;
    registry = createSessionRegistry({ store, sessionCache: cache, clock, logger: silentLogger, config: testConfig() });
  });
  afterAll(() => nodes.stop());
  beforeEach(async () => {
    user = await addUser(nodes.a.store);
  });

  const open = async (): Promise<SessionRecord> => {
    const now = systemClock.unix();
    const session = newSession(user.id, { createdAt: now, lastActiveAt: now, expiresAt: now + 3600 });
    await nodes.a.store.sessions.insert(session);
    return session;
  };
  const claims = ({ sid, userId, version, userAuthVersion }: SessionRecord) => ({
    sid,
    userId,
    userAuthVersion,
    sessionVersion: version,
  });
  const states = (...sessions: SessionRecord[]) =>
    Promise.all(sessions.map(async ({ sid }) => (await nodes.b.cache.get(sid))?.state));

  test('before the commit all nodes read the database, afterwards none has to; the kept session is not affected', async () => {
    const [own, other] = [await open(), await open()];
    for (const session of [own, other]) expect(await registry.check(claims(session))).toEqual(user);
    const ending = { userId: user.id, exceptSid: own.sid, reason: 'test' };
    const ended = await registry.endAll(ending, async (end) => {
      expect(await states(own, other)).toEqual(['active', 'revoking']);
      return end(nodes.a.store);
    });
    expect(ended).toBe(1);
    expect(await states(own, other)).toEqual(['active', 'revoked']);
    expect(await registry.check(claims(other))).toBeUndefined();
    await registry.end(own, 'test');
  });

  test('a session opened in the meantime ends with the others on every node', async () => {
    const first = await open();
    let late: SessionRecord | undefined;
    await registry.endAll({ userId: user.id, exceptSid: null, reason: 'test' }, async (end) => {
      late = await open();
      expect(await registry.check(claims(late))).toEqual(user);
      return end(nodes.a.store);
    });
    expect(late && (await states(first, late))).toEqual(['revoked', 'revoked']);
  });

  test('a failed change ends nothing', async () => {
    const session = await open();
    const failing = registry.endAll({ userId: user.id, exceptSid: null, reason: 'test' }, (end) =>
      nodes.a.store.transaction(async (tx) => {
        expect(await end(tx)).toBe(1);
        throw new Error('undone');
      }),
    );
    expect(await failing.catch(({ message }: Error) => message)).toBe('undone');
    expect(await states(session)).toEqual(['revoking']);
    expect(await registry.check(claims(session))).toEqual(user);
    expect(await registry.end(session, 'test')).toBe(true);
  });

  test('a second end is published again, because the first may not have been', async () => {
    const session = await open();
    await nodes.b.store.sessions.revoke(session.sid, 'elsewhere', systemClock.unix());
    expect(await registry.end(session, 'test')).toBe(false);
    expect(await states(session)).toEqual(['revoked']);
    expect((await nodes.a.store.sessions.bySid(session.sid))?.revokedReason).toBe('elsewhere');
  });

  test('a token newer than the cached version reads the database; an older one is refused', async () => {
    const old = await open();
    await registry.check(claims(old));
    const change = { sid: old.sid, expectedVersion: 1, expectedUserAuthVersion: 1, userAuthVersion: 2, now: 1 };
    await nodes.b.store.transaction(async (tx) => {
      await tx.users.moveAuthVersion(user.id, 1);
      await tx.sessions.advance(change);
    });
    const next = { ...old, version: 2, userAuthVersion: 2 };
    user = { ...user, authVersion: 2 };
    expect(await registry.check(claims(old))).toBeUndefined();
    expect(await registry.check(claims(next))).toEqual(user);
    expect(await registry.check(claims(old))).toBeUndefined();
    expect(await registry.check(claims({ ...next, version: 3 }))).toBeUndefined();
    expect(await registry.check(claims({ ...next, userId: user.id + 1 }))).toBeUndefined();
    expect(await registry.check(claims({ ...next, sid: newUuid() }))).toBeUndefined();
  });
});
