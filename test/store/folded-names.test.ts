import { afterAll, expect, test } from 'bun:test';
import { migrateStore, openStore } from '../../src/store/index.ts';
import type { Store } from '../../src/store/ports/index.ts';
import { addKey, addRunningTask } from '../contract/each-store.ts';
import { openRaw } from '../contract/open-raw.ts';
import { addUser } from '../support/add-user.ts';
import { turkishDatabaseUrl } from '../support/postgres.ts';
import { addOldUser, anOldDatabase, createConcurrencyLimit, type Setup } from './old-database.ts';

const places = createConcurrencyLimit();
afterAll(places.clear);

/** The migration that folds alike everywhere, and the one before it. */
const FOLDED = '0033_folded_names';
const BEFORE = 31;

const setUpTurkish = async (): Promise<Setup> => ({
  ...(await places.setUp('sqlite')),
  databaseUrl: await turkishDatabaseUrl(),
});

const KINDS: [string, () => Promise<Setup>][] = [
  ['SQLite', () => places.setUp('sqlite')],
  ['PostgreSQL', () => places.setUp('postgres')],
  ['PostgreSQL in Turkish', setUpTurkish],
];

async function withRaw<T>(setup: Setup, work: (raw: ReturnType<typeof openRaw>) => Promise<T>): Promise<T> {
  const raw = openRaw(setup);
  try {
    return await work(raw);
  } finally {
    await raw.close();
  }
}

async function withStore<T>(setup: Setup, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(setup);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

test.each(KINDS)('%s: one person has one name, in whatever case', async (_, setUp) => {
  await withStore(await setUp(), async (store) => {
    const user = await addUser(store, { username: 'IVAN', email: 'Ivan.I@Example.org' });
    await expect(addUser(store, { username: 'ivan' })).rejects.toThrow('the name is taken');
    const other = await addUser(store, { username: 'other' });
    expect(await store.users.update(other.id, { username: 'iVaN' })).toBe('name_taken');
    for (const login of ['ivan', 'IVAN', 'Ivan', 'IVAN.I@EXAMPLE.ORG', 'ivan.i@example.org']) {
      expect(await store.users.byNameOrAddress(login)).toMatchObject({ id: user.id });
    }
    const taken = await store.imports.existing({
      ...{ usernames: ['ivan'], emails: ['ivan.i@example.org'], affCodes: [], keyHashes: [], credentialIds: [] },
      identities: [],
    });
    expect([[...taken.usernames], [...taken.emails]]).toEqual([['ivan'], ['ivan.i@example.org']]);
  });
});

test.each(KINDS)('%s: a search finds letters of either case, beyond ASCII too', async (_, setUp) => {
  await withStore(await setUp(), async (store) => {
    const user = await addUser(store, { username: 'IRIS', displayName: 'Größe Ähnlich ВИД' });
    await addKey(store, user.id, { name: 'ÄPFEL PRINT' });
    const task = await addRunningTask(store, {
      userId: user.id,
      properties: { input: 'A Kiosk in İzmir, ÜBER', originModelName: 'DEMO-I', upstreamModelName: 'demo' },
    });
    const pages = { page: 1, pageSize: 10 };
    for (const keyword of ['iris', 'IRIS', 'GRÖSSE'.replace('SS', 'ß'), 'größe', 'ÄHNLICH', 'вид']) {
      expect([keyword, (await store.users.search({ keyword }, pages)).total]).toEqual([keyword, 1]);
    }
    for (const keyword of ['äpfel', 'Äpfel', 'print', 'PRINT']) {
      expect([keyword, await store.apiKeys.names({ keyword, firstOf: user.id }, 10)]).toMatchObject([
        keyword,
        [{ userId: user.id }],
      ]);
    }
    for (const query of ['kiosk', 'KIOSK IN', 'über', 'Über', 'demo-i', 'İzmir']) {
      const { items } = await store.tasks.list({ userId: user.id, query }, pages);
      expect([query, items.map(({ taskId }) => taskId)]).toEqual([query, [task.taskId]]);
    }
  });
});

test('an upgrade refuses two users of one name that a Turkish collation let in, and says whom to rename', async () => {
  const setup = await setUpTurkish();
  await anOldDatabase(setup, BEFORE, [
    addOldUser('IVAN'),
    addOldUser('anna'),
    addOldUser('ivan'),
    addOldUser('Iris'),
    addOldUser('iRIS'),
  ]);
  const refusal = {
    code: 'store.migration_refused',
    message: expect.stringContaining(
      "let these in: IVAN (user 1), ivan (user 3); Iris (user 4), iRIS (user 5). Rename all but one of each (update users set username = 'NEW-NAME' where id = ID), then start again.",
    ),
  };
  await expect(migrateStore({ ...setup, dryRun: true })).rejects.toMatchObject(refusal);
  await expect(migrateStore(setup)).rejects.toMatchObject(refusal);
  await withRaw(setup, async (raw) => {
    await raw.run("update users set username = 'ivan-2' where id = 3");
    await raw.run("update users set username = 'iris-2' where id = 5");
  });
  expect(await migrateStore(setup)).toContain(FOLDED);
  await withStore(setup, async (store) => {
    for (const login of ['ivan', 'IVAN']) expect(await store.users.byNameOrAddress(login)).toMatchObject({ id: 1 });
    expect(await store.users.byNameOrAddress('ANNA')).toMatchObject({ id: 2 });
  });
});

test('an upgrade gives addresses that a Turkish collation has folded their owners back', async () => {
  const setup = await setUpTurkish();
  await anOldDatabase(setup, 1, [
    addOldUser('one', { email: 'IVAN@example.org' }),
    addOldUser('two', { email: 'Iris@example.org' }),
    addOldUser('three', { email: 'iris@example.org' }),
    addOldUser('four', { email: 'INGI@example.org' }),
    addOldUser('five', { email: 'Ingi@example.org' }),
    addOldUser('six', { email: 'plain@example.org' }),
  ]);
  expect(await migrateStore(setup)).toContain(FOLDED);
  await withStore(setup, async (store) => {
    const owner = async (address: string) => (await store.identities.owner('email', address))?.userId;
    expect(await owner('ivan@example.org')).toBe(1);
    // The user who has it in the right spelling keeps it; otherwise the first user gets it.
    expect(await owner('iris@example.org')).toBe(3);
    expect(await owner('ingi@example.org')).toBe(4);
    expect(await owner('plain@example.org')).toBe(6);
    expect(await store.users.byNameOrAddress('ivan@example.org')).toMatchObject({ id: 1 });
  });
});
