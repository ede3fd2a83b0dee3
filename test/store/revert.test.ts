import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { type Migration, migrations } from '../../migrations/index.ts';
import { databaseVersion, LATEST_MIGRATION, migrateStore, revertStore } from '../../src/store/index.ts';
import { openRaw } from '../contract/open-raw.ts';
import { createConcurrencyLimit } from './old-database.ts';

// Many small steps on a disk, and on a server, that others use too.
setDefaultTimeout(120_000);

const places = createConcurrencyLimit();
afterAll(places.clear);

const down = (text: string) => ({ sqlite: text, postgres: text });

for (const dialect of ['sqlite', 'postgres'] as const) {
  test(`${dialect}: migrations with a way back are taken back, all or none; others are refused`, async () => {
    const setup = await places.setUp(dialect);
    expect(await databaseVersion(setup)).toBe(0);
    await migrateStore(setup);
    expect(await databaseVersion(setup)).toBe(LATEST_MIGRATION);
    const to = LATEST_MIGRATION - 1;
    const last = migrations.at(-1) as Migration;
    const others = migrations.slice(0, -1);

    expect(await revertStore({ ...setup, to: LATEST_MIGRATION })).toEqual([]);
    await expect(
      revertStore({ ...setup, to }, [...others, { ...last, down: down('drop table nothing') }]),
    ).rejects.toThrow();
    expect(await databaseVersion(setup)).toBe(LATEST_MIGRATION);
    await expect(revertStore({ ...setup, to: 0 }, migrations)).rejects.toMatchObject({ code: 'store.irreversible' });

    const known = [...others, { ...last, down: down('drop table plugin_sources') }];
    expect(await revertStore({ ...setup, to }, known)).toEqual([last.name]);
    expect(await databaseVersion(setup)).toBe(to);
    const raw = await openRaw(setup);
    await expect(raw.rows('select 1 from plugin_sources')).rejects.toThrow();
    await raw.close();
  });
}

for (const dialect of ['sqlite', 'postgres'] as const) {
  test(`${dialect}: each marked migration is taken back and made again, and nothing else changes`, async () => {
    const setup = await places.setUp(dialect);
    await migrateStore(setup);
    const text =
      dialect === 'sqlite'
        ? "select type, name, sql from sqlite_master where name not like 'sqlite_%' order by name"
        : `select table_name || '.' || column_name as name, data_type as type, '' as sql from information_schema.columns
           where table_schema = current_schema()
           union all select indexname, 'index', indexdef from pg_indexes where schemaname = current_schema() order by 1, 2`;
    const layout = async () => {
      const raw = await openRaw(setup);
      const rows = await raw.rows(text);
      await raw.close();
      return rows;
    };
    const before = await layout();
    for (const { number, name, down: back } of migrations.filter((each) => each.down)) {
      const raw = await openRaw(setup);
      await raw.run(back?.[dialect] ?? '');
      expect(await layout()).not.toEqual(before);
      await raw.run(migrations[number - 1]?.sql[dialect] ?? '');
      await raw.close();
      expect([name, await layout()]).toEqual([name, before]);
    }
  });
}
