/**
 * Stored deadlines after the clock was set back: each is eight hours further ahead then, and
 * counts as over. And what a process holds is not claimed by it, however the clock jumps.
 */
import { expect, test } from 'bun:test';
import { newRelayId, newUuid, quoted, randomAlnum, systemClock } from '../../src/kernel/index.ts';
import { LONGEST_RESULT_TRIES_MS, LONGEST_WEBHOOK_TRIES_MS } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { addKey, addRunningTask, describeEachStore, newSession, newTask, readLease } from './each-store.ts';
import { runRaw } from './open-raw.ts';

const HOURS = 8;
const SECONDS = HOURS * 3600;
const MS = SECONDS * 1000;
const YEAR = 365 * 86_400_000;
const LEASE = { owner: 'node', limit: 100, leaseForMs: 60_000 };
const NO_EXCLUSIONS = { hosts: [], users: [], userHosts: [] };

describeEachStore(
  'after the clock was set back',
  (opened) => {
    const run = (text: string) => runRaw(opened(), text);
    const ids = (found: readonly { taskId: string }[]) => found.map(({ taskId }) => taskId);

    test('webhooks are sent at once, whether they waited for an attempt or their process has died', async () => {
      const { webhooks } = opened().store;
      const put = async (change: { taskId: string; host?: string }) =>
        webhooks.putFinish(
          {
            ...{ eventId: `msg_${randomAlnum(27)}`, userId: 1, apiKeyId: 1, event: 'task.finished', host: 'a.example' },
            ...{ url: 'https://a.example/', payload: { type: 'x' }, createdAt: 100, ...change },
          },
          MS,
        );
      for (const taskId of ['waits', 'held']) await put({ taskId });
      const claim = (exclude = {}) => webhooks.claim({ ...LEASE, exclude: { ...NO_EXCLUSIONS, ...exclude } });
      const claimed = await claim();
      expect(ids(claimed).sort()).toEqual(['held', 'waits']);
      const [waits] = claimed.filter(({ taskId }) => taskId === 'waits');
      const lease = { id: waits?.id ?? 0, leaseOwner: 'node', leaseSeq: waits?.leaseSeq ?? 0 };
      const delivery = { at: 1, httpStatus: 500, durationMs: 7, error: '' };
      await webhooks.settle(lease, { status: 'retry', inMs: 60_000 }, delivery);
      expect(await claim()).toEqual([]);
      await run(
        `update webhook_outbox set next_attempt_at = next_attempt_at + ${MS}, give_up_at = give_up_at + ${YEAR}`,
      );
      await run(`update webhook_outbox set lease_until = lease_until + ${MS} where lease_until > 0`);
      expect(await webhooks.untilDue()).toBeLessThanOrEqual(0);
      // One of another user is due as it should be, and does not hide the others.
      await put({ taskId: 'now' });
      const held = claimed.filter(({ taskId }) => taskId === 'held').map(({ id }) => id);
      expect(ids(await claim({ held })).sort()).toEqual(['now', 'waits']);
      expect(ids(await claim())).toEqual(['held']);
      // It is tried as long as a new one, not for a year.
      const again = await webhooks.byEventId('waits', waits?.eventId ?? '');
      expect(again?.giveUpAtMs).toBeLessThanOrEqual(systemClock.nowMs() + LONGEST_WEBHOOK_TRIES_MS + MS);
    });

    test('a webhook of progress that was sent in the future makes the next one wait for its interval alone', async () => {
      const { webhooks } = opened().store;
      const update = () => ({
        ...{ eventId: `msg_${randomAlnum(27)}`, userId: 1, apiKeyId: 1, taskId: 'u', event: 'task.updated' as const },
        ...{ host: 'a.example', url: 'https://a.example/', payload: {}, createdAt: 100 },
      });
      await webhooks.putUpdate(update(), 60_000, MS);
      const [sent] = await webhooks.claim({ ...LEASE, exclude: NO_EXCLUSIONS });
      const lease = { id: sent?.id ?? 0, leaseOwner: 'node', leaseSeq: sent?.leaseSeq ?? 0 };
      await webhooks.settle(lease, { status: 'delivered' }, { at: 1, httpStatus: 200, durationMs: 7, error: '' });
      // Less far than the longest pause.
      await run('update webhook_outbox set last_attempt_at = last_attempt_at + 7200000');
      await webhooks.putUpdate(update(), 60_000, MS);
      expect(await webhooks.untilDue()).toBeLessThanOrEqual(60_000);
    });

    test('results are kept at once, whether they waited for an attempt or their process has died', async () => {
      const { results } = opened().store;
      const schedule = (taskId: string, userId: number) =>
        results.schedule([{ taskId, artifactKey: 'video', userId, kind: 'video', createdAt: 100 }], 86_400_000);
      await schedule('waits', 1);
      await schedule('held', 2);
      const claimed = await results.claim(LEASE);
      for (const { id, leaseSeq, taskId } of claimed)
        if (taskId === 'waits')
          await results.postpone({ id, leaseSeq, leaseOwner: 'node' }, { inMs: 60_000, reason: quoted('busy') });
      expect(await results.claim(LEASE)).toEqual([]);
      await run(`update kept_results set next_attempt_at = next_attempt_at + ${MS}, give_up_at = give_up_at + ${YEAR}`);
      await run(`update kept_results set lease_until = lease_until + ${MS} where lease_until > 0`);
      expect(await results.untilDue()).toBeLessThanOrEqual(0);
      const held = claimed.filter(({ taskId }) => taskId === 'held').map(({ id }) => id);
      expect(ids(await results.claim({ ...LEASE, held }))).toEqual(['waits']);
      const again = await results.find('waits', 'video');
      expect(again?.giveUpAtMs).toBeLessThanOrEqual(systemClock.nowMs() + LONGEST_RESULT_TRIES_MS + MS);
      expect(ids(await results.claim(LEASE))).toEqual(['held']);
    });

    test('submissions, polls, relayed requests and backups of dead processes are taken up at once', async () => {
      const { store } = opened();
      const submitting = await store.tasks.insert(newTask());
      const running = await addRunningTask(store);
      const open = {
        ...({
          kind: 'response',
          userId: 1,
          walletId: 1,
          apiKeyId: null,
          group: 'default',
          channelId: 3,
          credentialId: null,
          model: 'm',
        } as const),
        ...{ quota: 5, billing: submitting.billing, requestId: 'r', leaseOwner: 'dead', leaseForMs: 60_000 },
      };
      const relay = await store.relays.open({ ...open, relayId: newRelayId(1), createdAt: 100 });
      const backup = (id: string) =>
        ({ id, owner: newUuid(), trigger: 'schedule', place: '/b', retrySeconds: 3600 }) as const;
      expect(await store.backups.begin({ ...backup('a'), leaseForMs: 60_000, alone: false })).toBe(true);
      expect(await store.backups.begin({ ...backup('b'), leaseForMs: 60_000, alone: false })).toBe(false);

      await run(`update tasks set lease_until = ${systemClock.nowMs() + MS}`);
      await run(`update relay_requests set lease_until = lease_until + ${MS}`);
      await run(`update backup_runs set lease_until = lease_until + ${MS}`);
      expect(ids(await store.tasks.claimInterrupted(LEASE))).toEqual([submitting.taskId]);
      expect(ids(await store.tasks.claimDue({ ...LEASE, exceptChannels: [] }))).toEqual([running.taskId]);
      expect((await store.relays.interrupted(9)).map(({ relayId }) => relayId)).toEqual([relay.relayId]);
      expect(await store.relays.isDelivered(relay.relayId)).toBe(true);
      const claim = { relayId: relay.relayId, by: 'anyone_after_expiry', reserved: 5 } as const;
      const ending = { status: 'REFUNDED', quota: 0, billing: open.billing, httpStatus: 0, finishedAt: 1 } as const;
      expect(await store.relays.end(claim, ending)).toBe(true);
      expect(await store.backups.latest(1)).toMatchObject([{ id: 'a', status: 'failed' }]);
      expect(await store.backups.begin({ ...backup('b'), leaseForMs: 60_000, alone: false })).toBe(true);
    });

    test('a failed backup is repeated, and a run from the future counts as failed by now', async () => {
      const { backups } = opened().store;
      const run1 = { id: 'a', owner: newUuid(), trigger: 'schedule', place: '/b', leaseForMs: 60_000 } as const;
      await backups.begin({ ...run1, retrySeconds: 3600, alone: false });
      await backups.end(
        { id: 'a', owner: run1.owner },
        { status: 'failed', backup: '', bytes: 0, said: quoted('full') },
      );
      expect(await backups.begin({ ...run1, retrySeconds: 3600, alone: false })).toBe(false);
      await run(`update backup_runs set ended_at = ended_at + ${SECONDS}`);
      expect(await backups.begin({ ...run1, retrySeconds: 3600, alone: false })).toBe(true);
    });

    test('nobody gets in by a session or a flow from the future, nor by a key that was replaced then', async () => {
      const { store } = opened();
      const { id: userId } = await addUser(store);
      const now = 100_000;
      const span = { createdAt: now + SECONDS, lastActiveAt: now + SECONDS, expiresAt: now + SECONDS + 86_400 };
      const session = newSession(userId, span);
      await store.sessions.insert(session);
      const listed = { userId, authVersion: 1, limit: 9 };
      const seen = async (at: number) => [
        await store.sessions.countActive(userId, at),
        (await store.sessions.active(userId, at)).length,
        (await store.sessions.list({ ...listed, now: at })).length,
        (await store.sessions.usable([session.sid], at)).length,
      ];
      expect(await seen(now)).toEqual([0, 0, 0, 0]);
      // Clocks of two nodes may differ by a minute.
      expect(await seen(now + SECONDS - 60)).toEqual([1, 1, 1, 1]);
      const rotation = { sid: session.sid, expectedHash: session.refreshHash, newHash: 'n', previousValidUntil: 0 };
      const origin = { expectedVersion: 1, expectedUserAuthVersion: 1, ip: '', addressKey: '', userAgent: '' };
      expect(await store.sessions.rotate({ ...rotation, ...origin, now })).toBe(false);

      const flow = { tokenHash: randomAlnum(64), purpose: '2fa_login', provider: '', intent: '', userId } as const;
      const life = { createdAt: now + SECONDS, expiresAt: now + SECONDS + 300, consumedAt: null };
      await store.flows.insert({ ...flow, sessionId: '', payload: {}, ...life });
      const match = { purpose: '2fa_login', userId } as const;
      expect(await store.flows.consume(flow.tokenHash, match, now)).toBeUndefined();
      expect(await store.flows.find(flow.tokenHash, match, now + SECONDS - 60)).toBeDefined();

      const key = await addKey(store, userId, { formerHash: 'f'.repeat(64), formerPrefix: 'sk-f' });
      const month = 30 * 86_400;
      for (const [formerUntil, works] of [
        [now + month, true],
        [now + month + SECONDS, false],
      ] as const) {
        await run(`update api_keys set former_until = ${formerUntil} where id = ${key.id}`);
        expect((await store.apiKeys.byHash('f'.repeat(64), now)) !== undefined).toBe(works);
        expect((await store.apiKeys.usable(['f'.repeat(64)], now)).length > 0).toBe(works);
      }
    });

    test('a second factor that was locked or used in the future works now, once for each code', async () => {
      const { store } = opened();
      const { id } = await addUser(store);
      await store.twoFactor.begin({ userId: id, secretSealed: 's', createdAt: 1 });
      await store.twoFactor.enable(id, 's', 1);
      const lock = { limit: 1, lockSeconds: 300 };
      const now = 100_000;
      expect(await store.twoFactor.countAttempt(id, { ...lock, now: now + SECONDS })).toBe(1);
      expect(await store.twoFactor.countAttempt(id, { ...lock, now: now + SECONDS })).toBeUndefined();
      expect(await store.twoFactor.countAttempt(id, { ...lock, now })).toBe(2);
      expect(await store.twoFactor.countAttempt(id, { ...lock, now })).toBeUndefined();
      const step = now / 30;
      const uses = [];
      for (const each of [step + SECONDS / 30, step + 2, step + 1, step + 2, step + 3])
        uses.push(await store.twoFactor.useStep(id, Math.floor(each)));
      expect(uses).toEqual([true, true, false, false, true]);
    });

    test('a repeat after some hours buys nothing twice, and a clock years ahead holds no key for years', async () => {
      const { store } = opened();
      const { id: userId } = await addUser(store);
      const record = { userId, requestHash: 'a'.repeat(64), taskId: 'task_1' };
      const now = 10_000_000;
      const take = (key: string, at: number) => store.idempotency.take({ ...record, key, at, expiresAt: at + 86_400 });
      for (const [key, ahead, isHeld] of [
        ['hours', SECONDS, true],
        ['years', 3 * 365 * 86_400, false],
      ] as const) {
        expect(await take(key, now + ahead)).toBe(true);
        expect((await store.idempotency.find(userId, key, now)) !== undefined).toBe(isHeld);
        expect(await take(key, now)).toBe(!isHeld);
      }
    });

    test('a user who was warned of a low balance in the future is warned of another one', async () => {
      const { store } = opened();
      const { id } = await addUser(store, { balance: 5 });
      const now = 10_000_000;
      const choose = (threshold: number) =>
        store.balanceAlerts.choose(id, { threshold, mail: true, webhookUrl: null }, now);
      await choose(10);
      const claim = (at: number) => store.transaction((tx) => tx.balanceAlerts.claim(id, 0, at));
      expect(await claim(now + SECONDS)).toMatchObject({ balance: 5 });
      expect(await claim(now)).toBeUndefined();
      await choose(20);
      expect(await claim(now)).toMatchObject({ threshold: 20 });
    });
  },
  { fresh: 'test' },
);

describeEachStore(
  'after the clock jumped ahead',
  (opened) => {
    test('a process does not claim what it already holds, and claims everything else', async () => {
      const { store } = opened();
      const lapsed = { leaseForMs: 0 };
      const [held, left] = [await store.tasks.insert(newTask(lapsed)), await store.tasks.insert(newTask(lapsed))];
      expect(ids(await store.tasks.claimInterrupted({ ...LEASE, held: [held.taskId] }))).toEqual([left.taskId]);
      expect(await store.tasks.renew(readLease(held), 60_000)).toBe(true);
      // One whose lease was ended is held by nobody.
      expect(await store.tasks.renew(readLease(held), 0)).toBe(true);
      expect(ids(await store.tasks.claimInterrupted({ ...LEASE, held: [held.taskId] }))).toEqual([held.taskId]);

      const open = {
        ...({
          kind: 'response',
          userId: 1,
          walletId: 1,
          apiKeyId: null,
          group: 'default',
          channelId: 3,
          credentialId: null,
          model: 'm',
        } as const),
        ...{ quota: 5, billing: held.billing, requestId: 'r', leaseOwner: 'node', leaseForMs: 0, createdAt: 100 },
      };
      const [first, second] = [newRelayId(1), newRelayId(2)];
      for (const relayId of [first, second]) await store.relays.open({ ...open, relayId });
      expect((await store.relays.interrupted(9, [first])).map(({ relayId }) => relayId)).toEqual([second]);

      const [own, other] = [await addRunningTask(store), await addRunningTask(store)];
      expect(await store.tasks.claimDue({ ...LEASE, exceptChannels: [] })).toHaveLength(2);
      await runRaw(opened(), 'update tasks set lease_until = 1');
      // On SQLite the claims are in the memory of the process, which measures them by itself.
      const again = await store.tasks.claimDue({ ...LEASE, exceptChannels: [], held: [own.id] });
      expect(ids(again)).toEqual(opened().databaseUrl ? [other.taskId] : []);
    });
    const ids = (found: readonly { taskId: string }[]) => found.map(({ taskId }) => taskId);
  },
  { fresh: 'test' },
);
