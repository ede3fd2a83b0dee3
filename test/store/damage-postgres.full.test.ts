/** What the check of a database says of PostgreSQL's indexes, to an ordinary role. */
import { expect, test } from 'bun:test';
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { findDamage } from '../../src/store/index.ts';
import { startOwnPostgres } from '../support/own-postgres.ts';
import { runBeside } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const PAGE_BYTES = 8192;

test('a missing grant is not damage, and a broken index is', async () => {
  const server = await startOwnPostgres();
  try {
    const root = new SQL(server.url, { max: 1 });
    await root.unsafe(`
      create extension amcheck;
      create role ordinary login;
      grant create on schema public to ordinary;
      set role ordinary;
      create table things (id bigint primary key);
      insert into things select * from generate_series(1, 5000);
      reset role;
      checkpoint;
    `);
    const databaseUrl = server.url.replace('//postgres@', '//ordinary@');
    const check = () => findDamage({ databaseUrl, dataDir: '' });
    const refused = await check();
    expect(refused.faults).toEqual([]);
    expect(refused.unchecked).toContain('grant execute on function bt_index_check(regclass, boolean)');
    await root.unsafe('grant execute on function bt_index_check(regclass, boolean) to ordinary');
    expect(await check()).toEqual({ faults: [] });

    const [place] = await root`
      select current_setting('data_directory') as folder, pg_relation_filepath('things_pkey') as path`;
    await root.close();
    await server.kill();
    const file = openSync(join(place.folder, place.path), 'r+');
    writeSync(file, Buffer.alloc(PAGE_BYTES, 0xa5), 0, PAGE_BYTES, PAGE_BYTES);
    closeSync(file);
    await server.restart();
    const { faults } = await check();
    expect(faults).toEqual([expect.stringMatching(/^things_pkey: /)]);
    const doctor = await runBeside({ dataDir: temporaryFolder(), databaseUrl }, ['doctor', '--data']);
    expect([doctor.code, doctor.out]).toEqual([1, expect.stringMatching(/ERROR +database: .*things_pkey/)]);
  } finally {
    await server.kill();
  }
});
