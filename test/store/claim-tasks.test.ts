import { Database as SqliteFile } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import { storeErrors } from '../../src/store/drivers/errors.ts';
import { migrateStore, openStore } from '../../src/store/index.ts';
import { createRepositories } from '../../src/store/repositories/index.ts';
import { tablesFor } from '../../src/store/schema/index.ts';
import { openSqlite } from '../../src/store/sqlite/open-sqlite.ts';
import { addRunningTask } from '../contract/each-store.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

test('a claim that fails for one channel hands over what it has of the others', async () => {
  const dataDir = temporaryFolder();
  const common = { dataDir, synchronous: 'NORMAL', logger: silentLogger } as const;
  await migrateStore({ ...common, databaseUrl: '', clock: systemClock });
  const broken = new Set<number>();
  const driver = openSqlite({
    ...common,
    release: () => {},
    clock: systemClock,
    bind: (run) =>
      createRepositories({
        dialect: 'sqlite',
        tables: tablesFor('sqlite'),
        clock: systemClock,
        run: (text, params) =>
          /^update/i.test(text) && params.some((value) => broken.has(Number(value)))
            ? Promise.reject(storeErrors.unavailable())
            : run(text, params),
      }),
  });
  const store = { ...driver.root, transaction: driver.transaction } as unknown as Parameters<typeof addRunningTask>[0];
  const here = await addRunningTask(store, { channelId: 910_001 });
  const there = await addRunningTask(store, { channelId: 910_002 });
  const claim = { owner: 'o', limit: 100, leaseForMs: 60_000, exceptChannels: [] };
  broken.add(910_001);
  expect((await store.tasks.claimDue(claim)).map(({ taskId }) => taskId)).toEqual([there.taskId]);
  await expect(store.tasks.claimDue(claim)).rejects.toThrow('The database is not responding.');
  broken.clear();
  expect((await store.tasks.claimDue(claim)).map(({ taskId }) => taskId)).toEqual([here.taskId]);
  await driver.close();
});

test('on SQLite a claim of running tasks writes nothing, and ends with the process', async () => {
  const dataDir = temporaryFolder();
  const options = {
    dataDir,
    databaseUrl: '',
    synchronous: 'NORMAL',
    logger: silentLogger,
    clock: systemClock,
  } as const;
  const claim = { owner: 'o', limit: 100, leaseForMs: 60_000, exceptChannels: [] };
  const store = await openStore(options);
  const tasks = [await addRunningTask(store), await addRunningTask(store)];
  const file = new SqliteFile(join(dataDir, 'taskgate.db'), { readonly: true });
  const version = () => (file.query('pragma data_version').get() as { data_version: number }).data_version;
  const before = version();
  const claimed = await store.tasks.claimDue(claim);
  expect(claimed.map(({ taskId }) => taskId)).toEqual(tasks.map(({ taskId }) => taskId));
  expect([await store.tasks.claimDue(claim), version()]).toEqual([[], before]);
  expect(await store.tasks.queueDepth()).toMatchObject({ unfinished: 2, due: 0 });
  await store.close();
  const next = await openStore(options);
  expect(await next.tasks.claimDue(claim)).toHaveLength(2);
  await next.close();
  file.close();
});
