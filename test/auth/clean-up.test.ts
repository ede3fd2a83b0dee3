import { expect, test } from 'bun:test';
import { authCleanUpSteps, warnOfManySessions } from '../../src/auth/index.ts';
import { type CleanUpStep, type Logger, newUuid, silentLogger, systemClock } from '../../src/kernel/index.ts';
import { createCleanUp } from '../../src/operations/retention/clean-up.ts';
import { storeErrors } from '../../src/store/drivers/errors.ts';
import type { FlowRecord, SessionRecord, Store } from '../../src/store/ports/index.ts';
import { describeEachStore, newSession } from '../contract/each-store.ts';
import { openRaw } from '../contract/open-raw.ts';
import { type LogLine, recordingLogger } from '../http/kit-harness.ts';
import { addUser } from '../support/add-user.ts';
import { overriding } from './harness.ts';
import { refusal } from './refusal.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;
const NOW = 1000 * DAY;
const clock = { ...systemClock, unix: () => NOW };

const CONFIG = {
  sessionIssuanceWindowSeconds: DAY,
  revokedRetentionDays: 7,
  auditSignInDays: 0,
  hourlyAlertThreshold: 5000,
};
type Change = Partial<typeof CONFIG> & { logger?: Logger; more?: readonly CleanUpStep[] };
const readCleanUp = (store: Store, { logger = silentLogger, more = [], ...change }: Change = {}) => {
  const config = { ...CONFIG, ...change };
  return createCleanUp({
    store,
    logger,
    issuanceAlert: () => warnOfManySessions({ store, clock, logger }, config.hourlyAlertThreshold),
    steps: [...authCleanUpSteps({ store, clock }, config), ...more],
  });
};
const saying = (lines: readonly LogLine[], level: string) => lines.filter((line) => line.level === level);

const newFlow = (change: Partial<FlowRecord> = {}): FlowRecord => ({
  tokenHash: newUuid(),
  purpose: 'oauth',
  provider: '',
  intent: '',
  userId: 0,
  sessionId: '',
  payload: {},
  createdAt: NOW,
  expiresAt: NOW + 600,
  consumedAt: null,
  ...change,
});

/** A revoked row whose retention depends only on its `revokedAt`. */
const revoked = (revokedAt: number, change: Partial<SessionRecord> = {}): Partial<SessionRecord> => ({
  status: 'revoked',
  createdAt: NOW - 20 * DAY,
  expiresAt: NOW + DAY,
  revokedAt,
  ...change,
});

describeEachStore(
  'clean-up',
  (opened) => {
    async function addSessions(changes: Record<string, Partial<SessionRecord>>): Promise<void> {
      const { store } = opened();
      const { id } = await addUser(store);
      for (const [sid, change] of Object.entries(changes))
        await store.sessions.insert(newSession(id, { sid, ...change }));
    }
    const rows = async (question: string) => {
      const raw = openRaw(opened());
      try {
        return await raw.rows(question);
      } finally {
        await raw.close();
      }
    };
    const sids = async () => (await rows('select sid from user_sessions order by sid')).map(({ sid }) => String(sid));
    const flows = async () =>
      (await rows('select token_hash from auth_flows order by token_hash')).map(({ token_hash }) => String(token_hash));

    /** Inserts `count` sessions with these columns in one statement, bypassing the store. */
    async function addMany(
      userId: number,
      name: string,
      { count, columns }: { count: number; columns: Record<string, number | string> },
    ) {
      const given = Object.entries({
        user_id: userId,
        user_auth_version: 1,
        status: 'active',
        refresh_hash: 'h',
        login_method: 'password',
        ip: '',
        user_agent: '',
        created_at: NOW - 40 * DAY,
        last_active_at: NOW - 40 * DAY,
        expires_at: NOW + DAY,
        ...columns,
      });
      const values = given.map(([, value]) => (typeof value === 'string' ? `'${value}'` : value));
      await rows(
        `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
         insert into user_sessions (sid, ${given.map(([column]) => column).join(', ')})
         select '${name}-' || i, ${values.join(', ')} from n`,
      );
    }
    async function addManyFlows(
      name: string,
      { count, expiresAt, consumedAt }: { count: number; expiresAt: number; consumedAt: number | null },
    ) {
      await rows(
        `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
         insert into auth_flows (token_hash, purpose, created_at, expires_at, consumed_at)
         select '${name}-' || i, 'oauth', ${NOW - 3 * DAY}, ${expiresAt}, ${consumedAt} from n`,
      );
    }

    test('deletes thousands of rows in batches of at most 500, and nothing that still counts', async () => {
      const { store } = opened();
      const { id } = await addUser(store);
      await addMany(id, 'expired', { count: 1700, columns: { expires_at: NOW - 10 * DAY } });
      await addMany(id, 'revoked', { count: 1201, columns: { status: 'revoked', revoked_at: NOW - 8 * DAY } });
      await addMany(id, 'live', { count: 300, columns: {} });
      await addMany(id, 'lately-revoked', { count: 300, columns: { status: 'revoked', revoked_at: NOW - DAY } });
      await addManyFlows('expired', { count: 1100, expiresAt: NOW - 2 * DAY, consumedAt: null });
      await addManyFlows('used', { count: 600, expiresAt: NOW + 600, consumedAt: NOW - 2 * DAY });
      await addManyFlows('open', { count: 200, expiresAt: NOW + 600, consumedAt: null });

      const batches: number[] = [];
      const counted = async (batch: Promise<number>) => {
        batches.push(await batch);
        return batch;
      };
      const { sessions, flows: flowStore } = store;
      const watching = overriding(store, {
        sessions: overriding(sessions, {
          deleteExpired: (batch) => counted(sessions.deleteExpired(batch)),
          deleteRevoked: (batch) => counted(sessions.deleteRevoked(batch)),
        }),
        flows: overriding(flowStore, { deleteDone: (until, limit) => counted(flowStore.deleteDone(until, limit)) }),
      });
      const { logger, lines } = recordingLogger();
      await readCleanUp(watching, { logger }).run();

      expect(Math.max(...batches)).toBe(500);
      expect(batches.filter((deleted) => deleted > 0).length).toBeGreaterThanOrEqual(4 + 3 + 4);
      const left = await sids();
      expect(left.filter((sid) => sid.startsWith('expired') || sid.startsWith('revoked'))).toEqual([]);
      expect(left).toHaveLength(600);
      expect((await flows()).filter((hash) => !hash.startsWith('open'))).toEqual([]);
      expect(await flows()).toHaveLength(200);
      expect(saying(lines, 'info').map(({ fields }) => fields)).toEqual([
        { deleted: { 'expired sessions': 1700, 'revoked sessions': 1201, flows: 1700 } },
      ]);
      expect(lines).toHaveLength(1);
    });

    test('keeps what counts for issuance and what was revoked recently, to the second', async () => {
      await addSessions({
        'expired-and-old': { createdAt: NOW - DAY, expiresAt: NOW },
        'expired-but-counts': { createdAt: NOW - DAY + 1, expiresAt: NOW },
        'expires-in-a-second': { createdAt: NOW - 30 * DAY, expiresAt: NOW + 1 },
        'expired-and-revoked-lately': revoked(NOW - 7 * DAY + 1, { expiresAt: NOW - 1 }),
        'expired-and-revoked-long-ago': revoked(NOW - 7 * DAY, { expiresAt: NOW - 1 }),
        'revoked-lately': revoked(NOW - 7 * DAY + 1),
        'revoked-long-ago': revoked(NOW - 7 * DAY),
        'revoked-long-ago-but-counts': revoked(NOW - 7 * DAY, { createdAt: NOW - DAY + 1 }),
      });
      await readCleanUp(opened().store).run();
      expect(await sids()).toEqual([
        'expired-and-revoked-lately',
        'expired-but-counts',
        'expires-in-a-second',
        'revoked-lately',
        'revoked-long-ago-but-counts',
      ]);
    });

    test('keeps flows for a day after they ended or expired', async () => {
      const { store } = opened();
      for (const [tokenHash, change] of Object.entries<Partial<FlowRecord>>({
        'expired-a-day-ago': { expiresAt: NOW - DAY },
        'expired-lately': { expiresAt: NOW - DAY + 1 },
        open: {},
        'used-a-day-ago': { consumedAt: NOW - DAY },
        'used-lately': { consumedAt: NOW - DAY + 1 },
      })) {
        await store.flows.insert(newFlow({ tokenHash, ...change }));
      }
      await readCleanUp(store).run();
      expect(await flows()).toEqual(['expired-lately', 'open', 'used-lately']);
    });

    test('retention and issuance window come from the configuration', async () => {
      const { store } = opened();
      await addSessions({ r2: revoked(NOW - 2 * DAY), r30: revoked(NOW - 30 * DAY, { createdAt: NOW - 40 * DAY }) });
      await addSessions({ e: { createdAt: NOW - 3 * DAY, expiresAt: NOW - 1 } });
      await readCleanUp(store, { revokedRetentionDays: 60, sessionIssuanceWindowSeconds: 50 * DAY }).run();
      expect(await sids()).toEqual(['e', 'r2', 'r30']);
      await readCleanUp(store, { revokedRetentionDays: 30, sessionIssuanceWindowSeconds: 3 * DAY + 1 }).run();
      expect(await sids()).toEqual(['e', 'r2']);
      await readCleanUp(store, { revokedRetentionDays: 2, sessionIssuanceWindowSeconds: HOUR }).run();
      expect(await sids()).toEqual([]);
    });

    test('warns once when more sessions than the threshold were opened in the last hour, and only then', async () => {
      const { store } = opened();
      const { id } = await addUser(store);
      await addMany(id, 'lately', { count: 5, columns: { created_at: NOW - HOUR + 1 } });
      await addMany((await addUser(store)).id, 'others', {
        count: 5,
        columns: { created_at: NOW, status: 'revoked', revoked_at: NOW },
      });
      await addMany(id, 'earlier', { count: 5, columns: { created_at: NOW - HOUR } });
      for (const [hourlyAlertThreshold, warnings] of [
        [10, []],
        [9, [{ sessions: 10, threshold: 9 }]],
      ] as const) {
        const { logger, lines } = recordingLogger();
        await readCleanUp(store, { hourlyAlertThreshold, logger }).run();
        expect(saying(lines, 'warn').map(({ fields }) => fields)).toEqual([...warnings]);
      }
      expect(await sids()).toHaveLength(15);
    });

    test.each([
      ['issuance alert', 'countAllIssued'],
      ['expired sessions', 'deleteExpired'],
      ['revoked sessions', 'deleteRevoked'],
      ['flows', 'deleteDone'],
    ])('the step "%s" fails alone, and the next run does its work', async (step, method) => {
      const { store } = opened();
      const { id } = await addUser(store);
      await addMany(id, 'expired', { count: 3, columns: { expires_at: NOW - 10 * DAY } });
      await addMany(id, 'revoked', { count: 3, columns: { status: 'revoked', revoked_at: NOW - 8 * DAY } });
      await addManyFlows('expired', { count: 3, expiresAt: NOW - 2 * DAY, consumedAt: null });
      const away = () => Promise.reject(storeErrors.unavailable());
      const broken = overriding(store, {
        sessions: overriding(store.sessions, method === 'deleteDone' ? {} : { [method]: away }),
        flows: overriding(store.flows, method === 'deleteDone' ? { deleteDone: away } : {}),
      });
      const { logger, lines } = recordingLogger();
      await readCleanUp(broken, { logger }).run();
      expect(saying(lines, 'error').map(({ fields }) => fields.step)).toEqual([step]);
      const left = [...(await sids()), ...(await flows()).map((hash) => `flow ${hash}`)];
      const expected: Record<string, string[]> = {
        deleteExpired: ['expired-1', 'expired-2', 'expired-3'],
        deleteRevoked: ['revoked-1', 'revoked-2', 'revoked-3'],
        deleteDone: ['flow expired-1', 'flow expired-2', 'flow expired-3'],
      };
      expect(left).toEqual(expected[method] ?? []);

      await readCleanUp(store).run();
      expect([...(await sids()), ...(await flows())]).toEqual([]);
    });

    test('two masters do not clean up at the same time, and the later one finds nothing to do', async () => {
      const { store, openAnother, databaseUrl } = opened();
      const { id } = await addUser(store);
      await addMany(id, 'expired', { count: 1200, columns: { expires_at: NOW - 10 * DAY } });
      // SQLite has one process only, so two nodes make no sense there.
      const second = databaseUrl ? await openAnother() : store;

      let entered = () => {};
      let release = () => {};
      const inside = new Promise<void>((resolve) => {
        entered = resolve;
      });
      const released = new Promise<void>((resolve) => {
        release = resolve;
      });
      const slow = overriding(store, {
        sessions: overriding(store.sessions, {
          async deleteExpired(batch) {
            entered();
            await released;
            return store.sessions.deleteExpired(batch);
          },
        }),
      });
      const [first, other] = [recordingLogger(), recordingLogger()];
      const running = readCleanUp(slow, { logger: first.logger }).run();
      await inside;
      await readCleanUp(second, { logger: other.logger }).run();
      expect(other.lines).toEqual([]);
      expect(await sids()).toHaveLength(1200);
      release();
      await running;
      expect(saying(first.lines, 'info').map(({ fields }) => fields.deleted)).toEqual([{ 'expired sessions': 1200 }]);

      await readCleanUp(second, { logger: other.logger }).run();
      expect(other.lines).toEqual([]);
    });

    test('masters that start together delete each row once', async () => {
      const { store, openAnother, databaseUrl } = opened();
      const { id } = await addUser(store);
      await addMany(id, 'expired', { count: 2600, columns: { expires_at: NOW - 10 * DAY } });
      const nodes = databaseUrl ? [store, await openAnother(), await openAnother()] : [store, store];
      const logs = nodes.map(() => recordingLogger());
      await Promise.all(
        nodes.map((node, index) => readCleanUp(node, { logger: logs[index]?.logger ?? silentLogger }).run()),
      );
      const done = logs.flatMap(({ lines }) =>
        saying(lines, 'info').map(({ fields }) => (fields.deleted as Record<string, number>)['expired sessions'] ?? 0),
      );
      expect(done.reduce((sum, deleted) => sum + deleted, 0)).toBe(2600);
      expect(await sids()).toEqual([]);
      expect(logs.flatMap(({ lines }) => saying(lines, 'error'))).toEqual([]);
    });

    test('a stop ends it after the current batch', async () => {
      const { store } = opened();
      const { id } = await addUser(store);
      await addMany(id, 'expired', { count: 1600, columns: { expires_at: NOW - 10 * DAY } });
      const stopping = new AbortController();
      const stoppingSoon = overriding(store, {
        sessions: overriding(store.sessions, {
          async deleteExpired(batch) {
            stopping.abort();
            return store.sessions.deleteExpired(batch);
          },
        }),
      });
      await readCleanUp(stoppingSoon).run(stopping.signal);
      expect(await sids()).toHaveLength(1100);
      await readCleanUp(store).run(stopping.signal);
      expect(await sids()).toHaveLength(1100);
    });

    test('requests are served between batches', async () => {
      const { store } = opened();
      const { id } = await addUser(store);
      await addMany(id, 'expired', { count: 20_000, columns: { expires_at: NOW - 10 * DAY } });
      let cleaning = true;
      let turns = 0;
      const asking = (async () => {
        for (; cleaning; turns += 1) {
          await store.users.recordSignIn(id, turns);
          await new Promise((resolve) => setImmediate(resolve));
        }
      })();
      await readCleanUp(store).run();
      cleaning = false;
      await asking;
      expect(turns).toBeGreaterThanOrEqual(5);
      expect(await sids()).toEqual([]);
    });

    test('rows of other rooms are deleted too, in batches; a failing step does not stop the others', async () => {
      const { store } = opened();
      const { id: userId } = await addUser(store);
      await store.transaction(async (tx) => {
        for (let i = 0; i < 520; i += 1) {
          const expiresAt = i < 510 ? NOW - (i % 7) : NOW + 1;
          await tx.idempotency.take({ userId, key: `${i}`, requestHash: '', taskId: '', expiresAt, at: 1 });
        }
      });
      const { logger, lines } = recordingLogger();
      const broken = { step: 'what breaks', deleteBatch: () => Promise.reject(storeErrors.unavailable()) };
      const keys = {
        step: 'idempotency keys',
        deleteBatch: (limit: number) => store.idempotency.deleteExpired(NOW, limit),
      };
      await readCleanUp(store, { logger, more: [broken, keys] }).run();
      expect(await store.idempotency.deleteExpired(NOW, 1)).toBe(0);
      expect(await store.idempotency.deleteExpired(NOW + 1, 100)).toBe(10);
      expect(saying(lines, 'error').map(({ fields }) => fields.step)).toEqual(['what breaks']);
    });

    test('reports an unavailable database', async () => {
      const away = overriding(opened().store, { exclusively: () => Promise.reject(storeErrors.unavailable()) });
      await refusal(readCleanUp(away).run(), 'store.unavailable');
    });
  },
  { fresh: 'test' },
);
