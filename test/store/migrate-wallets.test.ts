import { afterAll, expect, test } from 'bun:test';
import { migrations } from '../../migrations/index.ts';
import { openStore, revertStore } from '../../src/store/index.ts';
import { openRaw } from '../contract/open-raw.ts';
import { addUser } from '../support/add-user.ts';
import { addOldUser, anOldDatabase, createConcurrencyLimit } from './old-database.ts';

const places = createConcurrencyLimit();
afterAll(places.clear);

const DAY = 86_400;
const BEFORE = migrations.findIndex(({ name }) => name.endsWith('_wallets'));

for (const dialect of ['sqlite', 'postgres'] as const) {
  test(`${dialect}: balances, keys, earlier bills and figures are those of each user’s own wallet`, async () => {
    const setup = await places.setUp(dialect);
    const no = dialect === 'postgres' ? 'false' : '0';
    await anOldDatabase(setup, BEFORE, [
      // The wallets' numbers are not those of the users that come later.
      addOldUser('gone'),
      addOldUser('anna', { quota: '70', used_quota: '10', request_count: '3' }),
      `insert into ledger_entries (user_id, kind, amount, grant_key, created_at) values (2, 'grant', 100, 'g', 1)`,
      `insert into ledger_entries (user_id, api_key_id, task_id, kind, attempt, amount, created_at)
       values (2, 5, 'task_1', 'reserve', 1, -30, 2)`,
      `insert into api_keys (id, user_id, name, key_hash, prefix, status, unlimited_quota, quota, models, allow_ips, created_at)
       values (5, 2, 'k', 'hash', 'sk-', 1, ${no}, 20, '[]', '[]', 1)`,
      `insert into tasks (task_id, platform, user_id, api_key_id, "group", channel_id, action, status, progress, created_at,
         updated_at, quota, properties, execution, billing)
       values ('task_1', 'demo', 2, 5, 'default', 1, '', 'IN_PROGRESS', '0%', 2, 2, 30, '{}', '{}', '{}')`,
      `insert into usage_logs (user_id, api_key_id, task_id, channel_id, plugin_key, model, kind, quota, detail, created_at)
       values (2, 5, 'task_0', 1, 'demo', 'm', 'settle', 4, '{}', ${11 * DAY})`,
      ...[2, 0].map(
        (user) => `insert into usage_days (user_id, day, plugin_key, model, kind, duration, tasks, quota)
          values (${user}, 10, 'demo', 'm', 'settle', -1, 2, 6)`,
      ),
      `update usage_progress set until = ${11 * DAY} where id = 1`,
      ...['usage_dates', 'usage_quarters'].map(
        (
          table,
        ) => `insert into ${table} (start, user_id, api_key_id, channel_id, plugin_key, model, succeeded, failed, spend)
          values (${10 * DAY}, 2, 5, 1, 'demo', 'm', 2, 0, 6)`,
      ),
      `update usage_sums_progress set until = ${11 * DAY} where id = 1`,
      `delete from users where id = 1`,
    ]);
    const store = await openStore(setup);
    try {
      const anna = await store.users.byId(2);
      expect(anna).toMatchObject({ walletId: 2, quota: 70, usedQuota: 10, requestCount: 3 });
      const key = await store.apiKeys.byId(5);
      expect(key).toMatchObject({ walletId: 2, quota: 20 });
      expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });
      expect((await store.ledger.list(2, { page: 1, pageSize: 9 })).total).toBe(2);

      // A wallet without a user comes in between: from here on the ids of users and wallets differ.
      const raw = openRaw(setup);
      await raw.run('insert into wallets (created_at) values (1)');
      await raw.close();
      const bert = await addUser(store, { balance: 9 });
      expect([bert.id, bert.walletId]).toEqual([3, 4]);
      expect(await store.ledger.imbalances(10)).toEqual({ wallets: [], tasks: [] });

      while (await store.transaction((tx) => tx.usage.addUp({ before: 99 * DAY, keptFrom: 0 }, 100)));
      while (await store.transaction((tx) => tx.figures.addUpDays(99 * DAY, 100)));
      const whole = { from: 0, until: 99 * DAY, userId: 2 } as const;
      for (const unit of ['day', 'quarter'] as const) {
        const sums = await store.usage.byTime({ ...whole, unit });
        expect(sums.map(({ start, spend }) => [start / DAY, spend])).toEqual([
          [10, 6],
          [11, 4],
        ]);
      }
      for (const filter of [{ userId: 2 }, {}])
        expect((await store.figures.usageByDay({ sinceDay: 0, by: 'model', ...filter }))[0]?.quota).toBe(10);
      expect((await store.tasks.byTaskId('task_1'))?.walletId).toBeNull();
    } finally {
      await store.close();
    }
    await expect(revertStore({ ...setup, to: BEFORE }, migrations.slice(0, BEFORE + 1))).rejects.toMatchObject({
      code: 'store.irreversible',
      message: expect.stringContaining('Balances are in wallets'),
    });
  });
}
