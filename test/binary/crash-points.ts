/**
 * The gateway is killed with SIGKILL at four points of a task's life and started again. A proxy in front of the vendor holds the conversation at the
 * exact point; what the vendor counted is the judge. Each point is taken twenty times on each database.
 */

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { SQL } from 'bun';
import {
  type Administrator,
  freePort,
  type Gateway,
  runCommand,
  setUp,
  startGateway,
  startVendor,
  until,
  type VendorProcess,
} from '../support/gateway.ts';
import { type HoldingProxy, startHoldingProxy } from '../support/holding-proxy.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { testDatabaseUrl } from '../support/postgres.ts';

const RUNS = 20;
const PRICE = 0.02;
const BILL = 5 * PRICE * 500_000;

/** What the tests do to the database behind the gateway's back. */
type Backdoor = {
  newestTaskId(): Promise<string>;
  /** Leases of a killed PostgreSQL node run out by themselves in 30 to 90 s; the tests shift the stored time. */
  expireLeases(): Promise<void>;
  /** Holds up every write until the returned function is called. */
  blockWrites(): Promise<() => Promise<void>>;
  /** True once the gateway waits for the held-up writes. */
  isWaiting(url: string): Promise<boolean>;
  close(): Promise<void>;
};

function sqliteBackdoor(dataDir: string): Backdoor {
  const open = () => {
    const database = new Database(join(dataDir, 'taskgate.db'));
    database.run('PRAGMA busy_timeout = 5000');
    return database;
  };
  const reader = open();
  return {
    newestTaskId: async () =>
      (reader.query('SELECT task_id FROM tasks ORDER BY id DESC LIMIT 1').get() as { task_id: string }).task_id,
    // The start of the only process of a SQLite database ends the leases itself.
    expireLeases: async () => {},
    async blockWrites() {
      const blocker = open();
      blocker.run('BEGIN IMMEDIATE');
      return async () => {
        blocker.run('ROLLBACK');
        blocker.close();
      };
    },
    // Its one writer waits inside SQLite, so the whole process stands still.
    isWaiting: (url) =>
      fetch(`${url}/livez`, { signal: AbortSignal.timeout(150) }).then(
        () => false,
        () => true,
      ),
    close: async () => reader.close(),
  };
}

function postgresBackdoor(url: string): Backdoor {
  const sql = new SQL(url, { max: 2 });
  return {
    newestTaskId: async () => (await sql`SELECT task_id FROM tasks ORDER BY id DESC LIMIT 1`)[0].task_id,
    expireLeases: async () => {
      await sql`UPDATE tasks SET lease_until = 1 WHERE lease_until > 0`;
    },
    async blockWrites() {
      const connection = await sql.reserve();
      await connection`BEGIN`;
      await connection`LOCK TABLE ledger_entries, usage_logs IN ACCESS EXCLUSIVE MODE`;
      return async () => {
        await connection`ROLLBACK`;
        connection.release();
      };
    },
    isWaiting: async () => (await sql`SELECT count(*)::int AS waiting FROM pg_locks WHERE NOT granted`)[0].waiting > 0,
    close: () => sql.close(),
  };
}

export function describeCrashPoints(dialect: 'SQLite' | 'PostgreSQL'): void {
  describe(`killed on ${dialect}`, () => {
    let vendor: VendorProcess;
    let proxy: HoldingProxy;
    let gateway: Gateway;
    let admin: Administrator;
    let backdoor: Backdoor;
    let key: string;
    let options: Parameters<typeof startGateway>[0];

    beforeAll(async () => {
      vendor = await startVendor();
      proxy = await startHoldingProxy({ host: '127.0.0.1', port: vendor.port });
      const databaseUrl = dialect === 'PostgreSQL' ? await testDatabaseUrl() : '';
      options = { databaseUrl, port: await freePort(), env: { TASK_POLL_INTERVAL_SECONDS: '1', LOG_LEVEL: 'warn' } };
      gateway = await startGateway(options);
      options.dataDir = gateway.dataDir;
      backdoor = databaseUrl ? postgresBackdoor(databaseUrl) : sqliteBackdoor(gateway.dataDir);
      admin = await setUp(gateway);
      await admin.createChannel(proxy.url);
      await admin.call('PUT', '/api/price', {
        plugin_key: 'demo',
        model: 'demo-video',
        expression: `${PRICE} * u("seconds")`,
      });
      key = await admin.createKey();
    }, 60_000);
    afterAll(async () => {
      await backdoor?.close();
      await gateway?.stop();
      await proxy?.stop();
      await vendor?.stop();
    });

    async function dieAndComeBack(): Promise<void> {
      await gateway.kill();
      proxy.cut();
      proxy.mode = 'pass';
      proxy.match = '';
      await backdoor.expireLeases();
      // The administrator's access token outlives the restart, like his session.
      gateway = await startGateway(options);
    }

    /** Submits without waiting for the answer, which never comes. */
    const submitAndForget = (body: Record<string, unknown>) =>
      void submit(gateway.url, key, { seconds: 5, ...body }).catch(() => {});

    /** Holds conversations of a kind and waits until one is held. */
    async function holdOne(
      mode: HoldingProxy['mode'],
      match: string,
      trigger: () => void | Promise<void>,
    ): Promise<void> {
      const before = proxy.held();
      proxy.mode = mode;
      proxy.match = match;
      await trigger();
      await until('a conversation is held', () => proxy.held() > before);
    }

    async function expectLedger(id: string, sum: number): Promise<void> {
      const { ledger } = await admin.call<{ ledger: { kind: string; amount: number }[] }>('GET', `/api/task/${id}`);
      expect(ledger.reduce((total, line) => total + line.amount, 0)).toBe(sum);
      expect(ledger.filter(({ kind }) => kind === 'reserve')).toHaveLength(1);
    }

    const repeated = (name: string, run: (round: number) => Promise<void>) =>
      test(`${name}, ${RUNS} times`, async () => {
        for (let round = 0; round < RUNS; round += 1) await run(round);
        expect(await runCommand(gateway, ['doctor', '--json'])).toMatchObject({ code: 0 });
      }, 180_000);

    repeated('before the upstream call: ended, refunded, never sent', async () => {
      const balance = await admin.quota();
      await holdOne('hold_requests', 'POST /v1/jobs', () => submitAndForget({}));
      const id = await backdoor.newestTaskId();
      await dieAndComeBack();
      const done = await waitForEnd(gateway.url, key, id);
      expect(done).toMatchObject({ status: 'FAILURE', fail_reason: 'submission interrupted' });
      expect((await vendor.stats(id)).creates).toBe(0);
      await expectLedger(id, 0);
      expect(await admin.quota()).toBe(balance);
    });

    repeated(
      'after the upstream call, before its answer is stored: ended, refunded, sent once, the orphan is named',
      async () => {
        const balance = await admin.quota();
        await holdOne('hold_answers', 'POST /v1/jobs', () => submitAndForget({}));
        const id = await backdoor.newestTaskId();
        expect((await vendor.stats(id)).creates).toBe(1);
        await dieAndComeBack();
        const done = await waitForEnd(gateway.url, key, id);
        expect(done).toMatchObject({ status: 'FAILURE', fail_reason: 'submission interrupted' });
        expect((await vendor.stats(id)).creates).toBe(1);
        await expectLedger(id, 0);
        expect(await admin.quota()).toBe(balance);
        await until('the log names the possible orphan', () =>
          gateway
            .log()
            .split('\n')
            .some((line) => line.includes(id) && line.includes('upstream job may exist')),
        );
      },
    );

    repeated('during a poll: polled on to the end, billed once', async () => {
      const balance = await admin.quota();
      let id = '';
      await holdOne('hold_answers', 'GET /v1/jobs/', async () => {
        id = String((await submit(gateway.url, key, { seconds: 5 })).body.id);
      });
      await dieAndComeBack();
      expect((await waitForEnd(gateway.url, key, id)).status).toBe('SUCCESS');
      expect((await vendor.stats(id)).creates).toBe(1);
      await expectLedger(id, -BILL);
      expect(await admin.quota()).toBe(balance - BILL);
    });

    repeated('between the terminal answer and the settlement: settled once', async () => {
      const balance = await admin.quota();
      // The vendor delivers three of five seconds, so that a settlement has something to give back.
      let id = '';
      await holdOne('hold_answers', 'GET /v1/jobs/', async () => {
        id = String(
          (await submit(gateway.url, key, { prompt: 'a cat [seconds=3] [duration=0.3]', seconds: 5 })).body.id,
        );
      });
      // From here on no write succeeds: the held answer arrives and its settlement waits.
      const unblock = await backdoor.blockWrites();
      proxy.release();
      await until('the settlement waits', () => backdoor.isWaiting(gateway.url));
      await gateway.kill();
      await unblock();
      await dieAndComeBack();
      expect((await waitForEnd(gateway.url, key, id)).status).toBe('SUCCESS');
      expect((await vendor.stats(id)).creates).toBe(1);
      await expectLedger(id, -BILL * 0.6);
      expect(await admin.quota()).toBe(balance - BILL * 0.6);
    });
  });
}
