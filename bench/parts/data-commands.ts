import { Database } from 'bun:sqlite';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { createSecretBox } from '../../src/kernel/index.ts';
import { sampleFile } from '../../test/support/new-api-source.ts';
import { startOwnPostgres } from '../../test/support/own-postgres.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { type Figure, higher, lower, row } from '../figures.ts';
import { fillStage } from '../fill-stage.ts';
import { measureBeside } from '../load/measure-beside.ts';
import type { Run } from '../part.ts';
import { startBuild } from '../stage.ts';

/** One account for this many tasks. */
const TASKS_PER_USER = 10;
const NEW_SECRET = 'a new crypto secret of the bench 0123456789';
/** No account of the gateway or of the sample has an id from here on. */
const FIRST_ID = 1_000_000;

/** An import from new-api into many tasks, beside a gateway that takes submissions. */
export async function benchImport({ build, seconds, tasks }: Run): Promise<Figure[]> {
  const { dataDir, key, size, stop } = await fillStage(build, tasks);
  const users = Math.ceil(size / TASKS_PER_USER);
  const source = writeSource(users);
  const gateway = await startBuild(build, { dataDir });
  try {
    const command = [build.binary, 'import', 'new-api', '--from', source, '--data-dir', dataDir];
    const what = `import of ${users.toLocaleString('en')} accounts with two keys each, into ${size.toLocaleString('en')} tasks`;
    return await measureBeside({ what, gateway, key, seconds, command });
  } finally {
    await gateway.stop();
    await stop();
  }
}

/** `secrets rotate` over as many sealed values, beside a gateway that knows both secrets. */
export async function benchRotation({ build, seconds, tasks }: Run): Promise<Figure[]> {
  const { dataDir, key, size, stop } = await fillStage(build, tasks);
  const values = Math.ceil(size / TASKS_PER_USER);
  const stored = JSON.parse(readFileSync(join(dataDir, 'secrets.json'), 'utf8')) as Record<string, string>;
  sealFactors(dataDir, { values, secret: stored.crypto_secret ?? '' });
  const env = {
    SESSION_SECRET: stored.session_secret ?? '',
    CRYPTO_SECRET: NEW_SECRET,
    CRYPTO_SECRET_PREVIOUS: stored.crypto_secret ?? '',
  };
  const gateway = await startBuild(build, { dataDir, env });
  try {
    const command = [build.binary, 'secrets', 'rotate', '--data-dir', dataDir];
    const what = `rotation of ${values.toLocaleString('en')} sealed values among ${size.toLocaleString('en')} tasks`;
    return await measureBeside({ what, gateway, key, seconds, command, env });
  } finally {
    await gateway.stop();
    await stop();
  }
}

/** `move-database` of a stopped gateway to a PostgreSQL server, and back. */
export async function benchMove({ build, tasks }: Run): Promise<Figure[]> {
  const { dataDir, size, stop } = await fillStage(build, tasks);
  const server = await startOwnPostgres();
  const move = async (name: string, to: string, env: Record<string, string>): Promise<Figure[]> => {
    const begun = performance.now();
    const child = Bun.spawn([build.binary, 'move-database', '--json', '--data-dir', dataDir, '--to', to], { env });
    if ((await child.exited) !== 0) throw new Error(await new Response(child.stdout).text());
    const seconds = (performance.now() - begun) / 1000;
    return row(`move of ${size.toLocaleString('en')} tasks ${name}`, [
      lower('duration', seconds, 's'),
      higher('rate', size / seconds, 'tasks/s'),
    ]);
  };
  try {
    const there = await move('from SQLite to PostgreSQL', server.url, {});
    const back = temporaryFolder();
    return [...there, ...(await move('from PostgreSQL to SQLite', back, { DATABASE_URL: server.url }))];
  } finally {
    await server.kill();
    await stop();
  }
}

function writeSource(users: number): string {
  const file = sampleFile();
  const source = new Database(file);
  source.run(
    `insert into users (id, username, password, email, role, status, quota, github_id)
      with recursive n (i) as (select ${FIRST_ID} union all select i + 1 from n where i < ${FIRST_ID + users - 1})
      select i, 'user-' || i, (select password from users where id = 2), 'user-' || i || '@example.test', 1, 1, i, '5' || i
      from n`,
  );
  source.run(
    `insert into tokens (user_id, key, status, name, expired_time, remain_quota, unlimited_quota)
      select id, substr(lower(hex(randomblob(24))), 1, 48), 1, 'key', -1, 500, 0
      from users join (select 1 union all select 2) where id >= ${FIRST_ID}`,
  );
  source.close();
  return file;
}

/** Users with an authenticator each. */
function sealFactors(dataDir: string, { values, secret }: { values: number; secret: string }): void {
  const box = createSecretBox([secret]);
  const database = new Database(join(dataDir, 'taskgate.db'));
  const user = database.query('insert into users (id, username, role, status, created_at) values (?, ?, 1, 1, 5)');
  const factor = database.query(
    'insert into two_factor (user_id, secret_sealed, enabled, created_at) values (?, ?, 1, 5)',
  );
  database.transaction(() => {
    for (let id = FIRST_ID; id < FIRST_ID + values; id += 1) {
      user.run(id, `user-${id}`);
      factor.run(id, box.seal('U6U3O3GQNBEK3XLNBMOMQJBVLFAJUJT6'));
    }
    database.run('insert into wallets (user_id, created_at) select id, created_at from users where id >= ?', [
      FIRST_ID,
    ]);
  })();
  database.close();
}
