import { expect, test } from 'bun:test';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { openSqlite } from '../../src/store/drivers/sqlite.ts';
import { storeErrors } from '../../src/store/errors.ts';
import { migrateStore } from '../../src/store/index.ts';
import { createRepositories } from '../../src/store/repositories/index.ts';
import { tablesOf } from '../../src/store/schema/index.ts';
import { addRunningTask } from '../contract/each-store.ts';
import { temporaryFolder } from '../support/gateway.ts';

test('a claim that fails for one channel hands over what it has of the others', async () => {
  const dataDir = temporaryFolder();
  const common = { dataDir, synchronous: 'NORMAL', logger: silentLogger } as const;
  await migrateStore({ ...common, databaseUrl: '', clock: systemClock });
  const broken = new Set<number>();
  const driver = openSqlite({
    ...common,
    release: () => {},
    bind: (run) =>
      createRepositories('sqlite', tablesOf('sqlite'), systemClock, (text, params) =>
        /^update/i.test(text) && params.some((value) => broken.has(Number(value)))
          ? Promise.reject(storeErrors.unavailable())
          : run(text, params),
      ),
  });
  const store = { ...driver.root, transaction: driver.transaction } as unknown as Parameters<typeof addRunningTask>[0];
  const here = await addRunningTask(store, { channelId: 910_001 });
  const there = await addRunningTask(store, { channelId: 910_002 });
  const claim = { owner: 'o', limit: 100, leaseForMs: 60_000, exceptChannels: [] };
  broken.add(910_001);
  expect((await store.tasks.claimDue(claim)).map(({ taskId }) => taskId)).toEqual([there.taskId]);
  await expect(store.tasks.claimDue(claim)).rejects.toThrow('The database does not answer.');
  broken.clear();
  expect((await store.tasks.claimDue(claim)).map(({ taskId }) => taskId)).toEqual([here.taskId]);
  await driver.close();
});
