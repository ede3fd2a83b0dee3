/**
 * The gateway is killed with SIGKILL and restarted while four tasks are at four points of their
 * life cycle, and while it holds the reservation of a chat in memory. A proxy in front of the
 * vendor holds each exchange at the exact point, and the vendor's own counts decide. The full run
 * repeats each point twenty times on each database.
 */

import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { SQL } from 'bun';
import { type ChatVendor, startChatVendor } from '../support/chat-vendor.ts';
import { freePort } from '../support/free-port.ts';
import { IS_FULL_RUN } from '../support/full-run.ts';
import {
  type Administrator,
  type Gateway,
  letNothingWait,
  setUp,
  startGateway,
  startVendor,
  type VendorProcess,
} from '../support/gateway.ts';
import { type HoldingProxy, startHoldingProxy } from '../support/holding-proxy.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { runBeside } from '../support/run-command.ts';
import { until } from '../support/until.ts';

const RUNS = IS_FULL_RUN ? 20 : 3;
const PRICE = 0.02;
const BILL = 5 * PRICE * 500_000;
const CHAT_PRICE = 0.04;
const CHAT_BILL = CHAT_PRICE * 500_000;

/** What the tests do to the database behind the gateway's back. */
type Backdoor = {
  newestTaskId(): Promise<string>;
  /**
   * Leases of a killed PostgreSQL node run out by themselves in 30 s; the tests shift the stored
   * time.
   */
  expireLeases(): Promise<void>;
  /** Holds up every write until the returned function is called. */
  blockWrites(): Promise<() => Promise<void>>;
  /** True once the gateway waits for the held-up writes. */
  isWaiting(url: string): Promise<boolean>;
  close(): Promise<void>;
};

/** Enough for the gateway to read an answer, call a hook and try to write. */
const ANSWERED_MEANWHILE = 500;

function sqliteBackdoor(dataDir: string): Backdoor {
  const open = () => {
    const database = new Database(join(dataDir, 'taskgate.db'));
    database.run('PRAGMA busy_timeout = 60000');
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
    // A write that waits shows nowhere. What was released comes before all these requests.
    async isWaiting(url) {
      for (let request = 0; request < ANSWERED_MEANWHILE; request += 1) await fetch(`${url}/livez`);
      return true;
    },
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
    isWaiting: async () => {
      // Only of this database: others on the server may wait for locks of their own.
      const [row] = await sql`SELECT count(*)::int AS waiting FROM pg_locks
        WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
      return row.waiting > 0;
    },
    close: () => sql.close(),
  };
}

export function describeCrashPoints(dialect: 'SQLite' | 'PostgreSQL'): void {
  describe(`killed on ${dialect}`, () => {
    let vendor: VendorProcess;
    let chats: ChatVendor;
    let proxy: HoldingProxy;
    let gateway: Gateway;
    let admin: Administrator;
    let backdoor: Backdoor;
    let key: string;
    let options: Parameters<typeof startGateway>[0];

    beforeAll(async () => {
      vendor = await startVendor();
      proxy = await startHoldingProxy({ host: '127.0.0.1', port: vendor.port });
      const databaseUrl = dialect === 'PostgreSQL' ? await migratedDatabaseUrl() : '';
      options = { databaseUrl, port: await freePort(), env: { TASK_POLL_INTERVAL_SECONDS: '1', LOG_LEVEL: 'warn' } };
      gateway = await startGateway(options);
      options.dataDir = gateway.dataDir;
      backdoor = databaseUrl ? postgresBackdoor(databaseUrl) : sqliteBackdoor(gateway.dataDir);
      admin = await setUp(gateway);
      // Slots that a kill leaves abandoned hold nothing up.
      await letNothingWait(admin);
      await admin.createChannel(proxy.url);
      await admin.call('PUT', '/api/price', {
        plugin_key: 'demo',
        model: 'demo-video',
        expression: `${PRICE} * u("seconds")`,
      });
      key = await admin.createKey();
      chats = await startChatVendor();
      const channel = { name: 'chats', type: 1, key: chats.key, base_url: chats.url, models: ['chat-x'] };
      await admin.call('POST', '/api/channel', channel);
      await admin.call('PUT', '/api/price', { plugin_key: '*', model: 'chat-x', expression: String(CHAT_PRICE) });
    });
    afterAll(async () => {
      await backdoor?.close();
      await gateway?.stop();
      await proxy?.stop();
      await vendor?.stop();
      await chats?.stop();
    });

    async function comeBack(): Promise<void> {
      proxy.cut();
      proxy.mode = 'pass';
      proxy.match = '';
      await backdoor.expireLeases();
      // The administrator's access token outlives the restart, like their session.
      gateway = await startGateway(options);
    }

    /** Submits without waiting for the answer, which never comes. */
    const submitAndForget = (body: Record<string, unknown>) =>
      void submit(gateway.url, key, { seconds: 5, ...body }).catch(() => {});

    /** Holds exchanges of this kind and waits until one is held. */
    async function holdOne(
      mode: HoldingProxy['mode'],
      match: string,
      trigger: () => void | Promise<void>,
    ): Promise<void> {
      const before = proxy.held();
      proxy.mode = mode;
      proxy.match = match;
      await trigger();
      await until('an exchange is held', () => proxy.held() > before);
    }

    async function expectLedger(id: string, sum: number): Promise<void> {
      const { ledger } = await admin.call<{ ledger: { kind: string; amount: number }[] }>('GET', `/api/task/${id}`);
      expect(ledger.reduce((total, line) => total + line.amount, 0)).toBe(sum);
      expect(ledger.filter(({ kind }) => kind === 'reserve')).toHaveLength(1);
    }

    /**
     * What must be true of every task whose submission was cut off: it ended, was refunded, and the
     * vendor has it this many times.
     */
    async function expectInterrupted(id: string, creates: number): Promise<void> {
      const done = await waitForEnd(gateway.url, key, id);
      expect(done).toMatchObject({ status: 'FAILURE', fail_reason: 'submission interrupted' });
      expect((await vendor.stats(id)).creates).toBe(creates);
      await expectLedger(id, 0);
    }

    /**
     * What must be true of every task that the vendor had accepted: it is polled on to its end,
     * sent once and billed once.
     */
    async function expectBilled(id: string, bill: number): Promise<void> {
      expect((await waitForEnd(gateway.url, key, id)).status).toBe('SUCCESS');
      expect((await vendor.stats(id)).creates).toBe(1);
      await expectLedger(id, -bill);
    }

    const submitted = async (body: Record<string, unknown>) =>
      String((await submit(gateway.url, key, { seconds: 5, ...body })).body.id);

    async function dieAtFourPoints(): Promise<void> {
      const balance = await admin.quota();
      await holdOne('hold_requests', 'POST /v1/jobs', () => submitAndForget({}));
      const unsent = await backdoor.newestTaskId();
      await holdOne('hold_answers', 'POST /v1/jobs', () => submitAndForget({}));
      const unanswered = await backdoor.newestTaskId();
      expect((await vendor.stats(unanswered)).creates).toBe(1);
      let polled = '';
      await holdOne('hold_answers', 'GET /v1/jobs/', async () => {
        polled = await submitted({});
      });
      // The vendor delivers three of five seconds, so that the settlement refunds a part.
      let unsettled = '';
      await holdOne('hold_answers', 'GET /v1/jobs/', async () => {
        unsettled = await submitted({ prompt: 'a cat [seconds=3] [duration=0.3]' });
      });
      // From here on no write succeeds: the answer that was held last arrives and its settlement
      // waits.
      const unblock = await backdoor.blockWrites();
      proxy.release('last');
      await until('the settlement waits', () => backdoor.isWaiting(gateway.url));
      await gateway.kill();
      await unblock();
      await comeBack();

      // Before the upstream call: never sent.
      await expectInterrupted(unsent, 0);
      // After the upstream call, before its answer is stored: sent once, and the possible orphan is
      // named.
      await expectInterrupted(unanswered, 1);
      await until('the log names the possible orphan', () =>
        gateway
          .log()
          .split('\n')
          .some((line) => line.includes(unanswered) && line.includes('vendor may still have a job')),
      );
      // During a poll.
      await expectBilled(polled, BILL);
      // Between the terminal answer and the settlement.
      await expectBilled(unsettled, BILL * 0.6);
      expect(await admin.quota()).toBe(balance - BILL * 1.6);
    }

    test(`before the upstream call, after it, during a poll and before the settlement, ${RUNS} times: nothing is lost, sent twice or billed twice`, async () => {
      for (let round = 0; round < RUNS; round += 1) await dieAtFourPoints();
      expect(await runBeside(gateway, ['doctor', '--json'])).toMatchObject({ code: 0 });
    }, 900_000);

    /** Begins a chat whose reservation is held in memory, and reads its first words. */
    async function beginChat(): Promise<ReadableStreamDefaultReader<Uint8Array>> {
      const body = { model: 'chat-x', stream: true, user: 'slow', messages: [{ role: 'user', content: 'hello' }] };
      const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
      let seen = '';
      while (!seen.includes('Grüße')) seen += new TextDecoder().decode((await reader.read()).value);
      return reader;
    }
    /** Ends what the vendor streams. The bill waits when the node is killed. */
    async function dieBeforeBill(): Promise<void> {
      const unblock = await backdoor.blockWrites();
      chats.release();
      await until('the bill waits', () => backdoor.isWaiting(gateway.url));
      await gateway.kill();
      await unblock();
      await comeBack();
    }
    const setBalance = async (value: number): Promise<void> => {
      const { id } = await admin.call<{ id: number }>('GET', '/api/user/self');
      await admin.call('POST', '/api/user/manage', { id, action: 'add_quota', mode: 'override', value });
    };

    async function dieWithHolds(): Promise<void> {
      const balance = await admin.quota();
      const used = async () => (await admin.call<{ total: number }>('GET', '/api/log?page=1')).total;
      const bills = await used();
      // Its answer has begun.
      await beginChat();
      expect(await admin.quota()).toBe(balance);
      await gateway.kill();
      chats.release();
      await comeBack();
      expect([await admin.quota(), await used()]).toEqual([balance, bills]);
      // Its answer has ended.
      await beginChat();
      await dieBeforeBill();
      expect([await admin.quota(), await used()]).toEqual([balance, bills]);
      // Its answer has ended, and what it would be paid with is spent.
      await beginChat();
      await setBalance(CHAT_BILL - 1);
      await dieBeforeBill();
      expect([await admin.quota(), await used()]).toEqual([CHAT_BILL - 1, bills]);
      // The same where the node lives: it is billed once.
      await setBalance(CHAT_BILL);
      const reader = await beginChat();
      await setBalance(CHAT_BILL - 1);
      chats.release();
      for (let step = await reader.read(); !step.done; ) step = await reader.read();
      await until('it is billed', async () => (await used()) > bills);
      expect([await admin.quota(), await used()]).toEqual([-1, bills + 1]);
      await setBalance(balance);
    }

    test(`while a chat is held in memory: answer begun, ended, and bill not covered any more, ${RUNS} times: nothing is billed and nothing stays reserved`, async () => {
      await admin.call('PUT', '/api/option', { key: 'billing.memory_hold_quota', value: String(10 * CHAT_BILL) });
      for (let round = 0; round < RUNS; round += 1) await dieWithHolds();
      expect(await runBeside(gateway, ['doctor', '--json'])).toMatchObject({ code: 0 });
    }, 900_000);
  });
}
