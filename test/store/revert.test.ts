import { afterAll, expect, test } from 'bun:test';
import { type Migration, migrations } from '../../migrations/index.ts';
import { databaseVersion, LATEST_MIGRATION, migrateStore, revertStore } from '../../src/store/index.ts';
import { openRaw } from '../contract/open-raw.ts';
import { addOldUser, anOldDatabase, createConcurrencyLimit, type Setup } from './old-database.ts';

const places = createConcurrencyLimit();
afterAll(places.clear);

/** The earlier version knows the migrations up to this one. */
const FORMER = 20;
/** From the next migration on there is no way back. */
const REVERSIBLE = migrations.findIndex(({ name }) => name.endsWith('_wallets'));

async function inDatabase<T>(setup: Setup, work: (raw: Awaited<ReturnType<typeof openRaw>>) => Promise<T>): Promise<T> {
  const raw = await openRaw(setup);
  try {
    return await work(raw);
  } finally {
    await raw.close();
  }
}

const layoutText = (setup: Setup) =>
  setup.databaseUrl === ''
    ? "select type, name, sql from sqlite_master where name not like 'sqlite_%' and name <> 'left_migrations' order by name"
    : `select table_name || '.' || column_name as name, data_type as type from information_schema.columns
       where table_schema = current_schema() and table_name <> 'left_migrations'
       union all select indexname, indexdef from pg_indexes
       where schemaname = current_schema() and tablename <> 'left_migrations' order by 1, 2`;

for (const dialect of ['sqlite', 'postgres'] as const) {
  test(`${dialect}: a database goes back with all it holds, serves the earlier version, and comes forth again`, async () => {
    const setup = await places.setUp(dialect);
    expect(await databaseVersion(setup)).toBe(0);
    const kept = [
      "imported_rows values ('new-api', 'user', '7', 1, 5)",
      "retention_progress values ('events', 9, 0, 5)",
    ];
    await anOldDatabase(setup, REVERSIBLE, [addOldUser('anna'), ...kept.map((row) => `insert into ${row}`)]);
    const rows = () =>
      inDatabase(setup, async (raw) => [
        await raw.rows('select source, source_id, target_id from imported_rows'),
        await raw.rows('select name, position from retention_progress'),
        await raw.rows('select username from users order by id'),
      ]);
    const layout = (of: Setup) => inDatabase(of, (raw) => raw.rows(layoutText(of)));
    const before = await rows();

    const names = migrations.slice(FORMER).map(({ name }) => name);
    // Twice, since a second journey finds the table of the first.
    const left = [await revertStore({ ...setup, to: FORMER + 5 }), await revertStore({ ...setup, to: FORMER })];
    expect(left.flat()).toEqual(names.slice(0, REVERSIBLE - FORMER).reverse());
    expect(await databaseVersion(setup)).toBe(FORMER);
    expect(await revertStore({ ...setup, to: FORMER })).toEqual([]);
    // As the earlier version writes.
    await inDatabase(setup, (raw) => raw.run(addOldUser('bert')));

    expect(await migrateStore({ ...setup, dryRun: true })).toEqual(names);
    expect(await migrateStore(setup)).toEqual(names);
    expect(await databaseVersion(setup)).toBe(LATEST_MIGRATION);
    const fresh = await places.setUp(dialect);
    await migrateStore(fresh);
    expect(await layout(setup)).toEqual(await layout(fresh));
    const [imported, progress] = await rows();
    expect([imported, progress]).toEqual(before.slice(0, 2));
    expect(await inDatabase(setup, (raw) => raw.rows('select erased_at from users'))).toHaveLength(2);
    expect(await inDatabase(setup, (raw) => raw.rows('select 1 from left_migrations'))).toEqual([]);
  });

  test(`${dialect}: what the earlier version would break or lose closes the way back, all or none`, async () => {
    const setup = await places.setUp(dialect);
    await anOldDatabase(setup, REVERSIBLE, []);
    await expect(revertStore({ ...setup, to: 3 })).rejects.toMatchObject({ code: 'store.irreversible' });
    const closing: [number, string, string][] = [
      [
        21,
        "insert into ledger_entries (user_id, kind, amount, grant_key, created_at) values (1, 'carried', 0, 'carried:1', 5)",
        'were folded',
      ],
      [
        24,
        "insert into kept_results (task_id, artifact_key, user_id, state, kind, next_attempt_at, give_up_at, created_at) values ('t', 'preview:video', 1, 'wanted', 'preview', 0, 0, 0)",
        'Previews are still to be made',
      ],
      [18, "update kept_results set state = 'lost'", 'Results are kept'],
    ];
    for (const [to, statement, reason] of closing) {
      await inDatabase(setup, (raw) => raw.run(statement));
      await expect(revertStore({ ...setup, to })).rejects.toMatchObject({ message: expect.stringContaining(reason) });
      expect(await databaseVersion(setup)).toBe(REVERSIBLE);
      await inDatabase(setup, (raw) => raw.run("delete from ledger_entries where kind = 'carried'"));
    }
  });

  test(`${dialect}: the only key of each channel goes back to where the earlier version looks, and comes forth`, async () => {
    const setup = await places.setUp(dialect);
    await migrateStore(setup);
    const run = (text: string) => inDatabase(setup, (raw) => raw.run(text));
    const channel = (id: number, columns = '', values = '') =>
      run(`insert into channels (id, name, type, base_url, models, "groups", priority, weight, model_mapping, settings, status, created_at, updated_at${columns})
        values (${id}, 'c${id}', 1, 'https://v.example', '[]', '[]', 0, 1, '{}', '{}', 1, 1, 1${values})`);
    const credential = (channelId: number, key: string) =>
      run(`insert into credentials (channel_id, key_sealed, key_hint, label, created_at, updated_at)
        values (${channelId}, '${key}', 'hint', 'label', 1, 1)`);
    const keys = () =>
      inDatabase(setup, (raw) => raw.rows('select key_sealed, label from credentials order by channel_id'));
    const to = migrations.findIndex(({ name }) => name.endsWith('_credentials'));
    await channel(1);
    await channel(2);
    for (const id of [1, 2]) await credential(id, `key ${id}`);
    await credential(2, 'another');
    await expect(revertStore({ ...setup, to })).rejects.toMatchObject({
      message: expect.stringContaining('several: 2'),
    });
    await run("delete from credentials where key_sealed = 'another'");
    await revertStore({ ...setup, to });
    const before = await inDatabase(setup, (raw) =>
      raw.rows('select name, key_sealed, key_hint from channels order by id'),
    );
    expect(before).toEqual([
      { name: 'c1', key_sealed: 'key 1', key_hint: 'hint' },
      { name: 'c2', key_sealed: 'key 2', key_hint: 'hint' },
    ]);
    // As the earlier version writes.
    await run("update channels set key_sealed = 'changed' where id = 1");
    await run('delete from channels where id = 2');
    await channel(3, ', key_sealed, key_hint', ", 'new', ''");
    await migrateStore(setup);
    expect(await keys()).toEqual([
      { key_sealed: 'changed', label: 'label' },
      { key_sealed: 'new', label: '' },
    ]);
  });

  test(`${dialect}: what another program has left under the same number is not taken for our own`, async () => {
    const setup = await places.setUp(dialect);
    await migrateStore(setup);
    const last = migrations.at(-1) as Migration;
    const foreign = { ...last, name: `${last.name}_of_another`, back: { unless: [] } };
    await revertStore({ ...setup, to: last.number - 1 }, [...migrations.slice(0, -1), foreign]);
    await expect(migrateStore(setup)).rejects.toMatchObject({ message: expect.stringContaining(foreign.name) });
  });
}

test('every migration says whether the earlier version runs on what it leaves, and why not', () => {
  /** What a program that does not know of it can live with. */
  const additions = [
    /^create (?:unique )?(?:table|index) /,
    // They write to a table of their own; their text is not looked at.
    /^create (?:function|trigger) task_list/,
    /^create function keep_task_list/,
    /^insert into task_list select /,
    /^alter table \w+ add column .* default /,
    /^insert into options /,
    // An index that is made again for fewer rows: the earlier version walks others in its place.
    /^drop index tasks_(?:submitting|running)$/,
    // The earlier version does not look at it.
    /^update tasks set credential_id /,
    // What runs has no end.
    /^update tasks set finish_time = 0 where status in \('NOT_START', /,
    // Addresses in the spelling that the earlier version looks for, too.
    /^update external_identity_claims as claim set subject /,
  ];
  const sentence = /^[A-Z].*\.$/;
  const faults = migrations.flatMap(({ name, sql, back }) => {
    if ('never' in back) return sentence.test(back.never) ? [] : [`${name}: not a sentence`];
    const statements = Object.values(sql).flatMap((text) =>
      text
        .replaceAll(/--.*$/gm, '')
        .replaceAll(/\$\$.*?\$\$|\bbegin\b.*?\bend(?=;)/gs, 'body')
        .split(';')
        .map((each) => each.trim().replaceAll(/\s+/g, ' '))
        .filter((each) => each !== ''),
    );
    const made = new Set(statements.flatMap((each) => /^create table (\w+)/.exec(each)?.[1] ?? []));
    const isMovedBack = (each: string): boolean => {
      const [, index] = /^drop index (\w+)$/.exec(each) ?? [];
      if (index !== undefined) return back.moved?.back.includes(`create index ${index} `) === true;
      const [, table, column] = /^alter table (\w+) drop column (\w+)$/.exec(each) ?? [];
      return column !== undefined && back.moved?.back.includes(`alter table ${table} add column ${column} `) === true;
    };
    const isMadeAnew = (each: string): boolean => {
      const [, dropped] = /^drop ((?:index|trigger) \w+)$/.exec(each) ?? [];
      return dropped !== undefined && statements.some((other) => other.startsWith(`create ${dropped} `));
    };
    const changes = statements.filter(
      (each) =>
        !isMovedBack(each) &&
        !isMadeAnew(each) &&
        !additions.some((allowed) => allowed.test(each)) &&
        !made.has(/^insert into (\w+)/.exec(each)?.[1] ?? ''),
    );
    return [
      ...changes.map((each) => `${name} changes what was there, so "back" must be "never": ${each}`),
      ...back.unless.filter(({ refusal }) => !sentence.test(refusal([]))).map(() => `${name}: not a sentence`),
    ];
  });
  expect(faults).toEqual([]);
});

test('postgres: a node that runs closes the way back: it would go on writing what the earlier version breaks', async () => {
  const setup = await places.setUp('postgres');
  await migrateStore(setup);
  const node = (id: string, age: number) =>
    inDatabase(setup, (raw) =>
      raw.run(`insert into nodes (id, role, version, started_at, heartbeat_at, fingerprints)
        values ('${id}', 'master', '9', 1, extract(epoch from now())::bigint - ${age}, '[]')`),
    );
  await node('runs', 5);
  const back = () => revertStore({ ...setup, to: LATEST_MIGRATION - 1 });
  await expect(back()).rejects.toMatchObject({
    code: 'store.in_use',
    message: expect.stringContaining('The node runs runs on the PostgreSQL database: stop all nodes first.'),
  });
  await inDatabase(setup, (raw) => raw.run('delete from nodes'));
  await node('killed', 100);
  expect(await back()).toHaveLength(1);
});
