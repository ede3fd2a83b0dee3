import { expect, test } from 'bun:test';
import { newTaskId } from '../../src/kernel/index.ts';
import type { UserRecord } from '../../src/store/ports/index.ts';
import { addUser } from '../support/add-user.ts';
import { describeEachStore, newTask } from './each-store.ts';
import { openRaw } from './open-raw.ts';

/** More than one statement of the check reads. */
const TASKS = 6000;

describeEachStore(
  'the check of a large ledger',
  (opened) => {
    /** Ended tasks of one user, each with a reservation of 3 and a settlement that refunds 1. */
    async function fill({ id: userId, walletId }: UserRecord): Promise<void> {
      const { store, databaseUrl, dataDir } = opened();
      const { taskId } = await store.tasks.insert(newTask({ userId, quota: 2 }));
      const raw = openRaw({ databaseUrl, dataDir });
      const rows = `(with recursive n(i) as (select 1 union all select i + 1 from n where i < ${TASKS}) select i from n) as numbers`;
      const columns = (await raw.rows(`select * from tasks where task_id = '${taskId}'`)).flatMap((row) =>
        Object.keys(row).filter((name) => !['id', 'task_id', 'status'].includes(name)),
      );
      const kept = columns.map((name) => `"${name}"`).join(', ');
      try {
        await raw.run(
          `insert into tasks (task_id, status, ${kept}) select 't' || i, 'SUCCESS', ${kept} from tasks cross join ${rows} where task_id = '${taskId}'`,
        );
        for (const [kind, amount] of [
          ['reserve', -3],
          ['settle', 1],
        ]) {
          await raw.run(
            `insert into ledger_entries (wallet_id, task_id, kind, attempt, amount, created_at) select ${walletId}, 't' || i, '${kind}', 1, ${amount}, 1 from ${rows}`,
          );
        }
        await raw.run(`update wallets set quota = quota - ${2 * TASKS} where id = ${walletId}`);
      } finally {
        await raw.close();
      }
    }

    test('other work gets its turn while it runs, and every imbalance is found', async () => {
      const { store, databaseUrl, dataDir } = opened();
      const user = await addUser(store, { balance: 1_000_000 });
      await fill(user);
      const other = await addUser(store, { balance: 5 });
      let turns = 0;
      let isOver = false;
      const count = () => {
        turns += 1;
        if (!isOver) setImmediate(count);
      };
      count();
      expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
      isOver = true;
      expect(turns).toBeGreaterThan(10);

      const raw = openRaw({ databaseUrl, dataDir });
      try {
        await raw.run(
          `update ledger_entries set amount = 0 where task_id in ('t1', 't3500', 't${TASKS}') and kind = 'settle'`,
        );
        await raw.run(`update wallets set quota = 6 where id = ${other.walletId}`);
      } finally {
        await raw.close();
      }
      const wrong = (taskId: string) => ({ taskId, quota: 2, ledger: -3 });
      const quota = 1_000_000 - 2 * TASKS;
      expect(await store.ledger.imbalances(10)).toEqual({
        wallets: [
          { walletId: user.walletId, userId: user.id, quota, ledger: quota - 3 },
          { walletId: other.walletId, userId: other.id, quota: 6, ledger: 5 },
        ],
        tasks: [wrong('t1'), wrong('t3500'), wrong(`t${TASKS}`)],
      });
      expect(await store.ledger.imbalances(2)).toMatchObject({
        wallets: [{ userId: user.id }, { userId: other.id }],
        tasks: [wrong('t1'), wrong('t3500')],
      });
    });

    test('money that moves in the meantime is reported as no imbalance, and hides none', async () => {
      const { store, openAnother } = opened();
      const user = await addUser(store, { balance: 1_000_000 });
      const wrong = await addUser(store, { balance: 100_000 });
      await fill(user);
      const raw = openRaw(opened());
      await raw.run(`update wallets set quota = quota + 1 where id = ${wrong.walletId}`);
      await raw.close();
      const nodes = store.dialect === 'postgres' ? [store, await openAnother()] : [store];
      let isOver = false;
      let moved = 0;
      const spend = async (node: typeof store, { id: userId, walletId }: UserRecord) => {
        while (!isOver) {
          const taskId = newTaskId(Date.now());
          await node.transaction(async (tx) => {
            await tx.ledger.reserve({ walletId, userId, apiKeyId: null, taskId, attempt: 0, amount: 7, at: 1 });
            await tx.ledger.post({ walletId, apiKeyId: null, taskId, kind: 'refund', attempt: 0, amount: 3, at: 1 });
          });
          moved += 1;
        }
      };
      const spending = nodes.flatMap((node) => [spend(node, user), spend(node, wrong), spend(node, user)]);
      for (let round = 0; round < 5; round += 1) {
        const { wallets, tasks } = await store.ledger.imbalances(10);
        expect(tasks).toEqual([]);
        expect(wallets.map(({ userId, quota, ledger }) => [userId, quota - ledger])).toEqual([[wrong.id, 1]]);
      }
      isOver = true;
      await Promise.all(spending);
      expect(moved).toBeGreaterThan(0);
    });
  },
  { fresh: 'test' },
);
