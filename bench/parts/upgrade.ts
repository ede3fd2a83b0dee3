import { statSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { migrations } from '../../migrations/index.ts';
import { anOldDatabase, createConcurrencyLimit } from '../../test/store/old-database.ts';
import { type Figure, lower, note, row } from '../figures.ts';
import type { Run } from '../part.ts';

/** The layout of version 0.1.0 and of all up to the one with balances in users. */
const BEFORE = migrations.findIndex(({ name }) => name.endsWith('_wallets'));
const USERS = 10_000;
/** A node of a shared database makes none itself. */
const SECRETS = { SESSION_SECRET: 's'.repeat(32), CRYPTO_SECRET: 'c'.repeat(32) };

/** Upgrades of databases with this many paid tasks by `taskgate migrate`, SQLite and PostgreSQL. */
export async function benchUpgrade({ build, tasks }: Run): Promise<Figure[]> {
  const places = createConcurrencyLimit();
  const figures: Figure[] = [];
  try {
    for (const [name, dialect] of [
      ['SQLite', 'sqlite'],
      ['PostgreSQL', 'postgres'],
    ] as const) {
      const setup = await places.setUp(dialect);
      await anOldDatabase(setup, BEFORE, fill(dialect, tasks));
      const { databaseUrl, dataDir } = setup;
      const begun = performance.now();
      const command = Bun.spawn([build.binary, 'migrate', '--data-dir', dataDir], {
        cwd: dataDir,
        env: databaseUrl === '' ? {} : { ...SECRETS, DATABASE_URL: databaseUrl },
        stdin: 'ignore',
        stdout: 'ignore',
        stderr: 'pipe',
      });
      const said = await new Response(command.stderr).text();
      if ((await command.exited) !== 0) throw new Error(`the upgrade on ${name} failed: ${said.slice(-2000)}`);
      const seconds = (performance.now() - begun) / 1000;
      const size = dialect === 'sqlite' ? [note('file', statSync(join(dataDir, 'taskgate.db')).size / 1e6, 'MB')] : [];
      figures.push(
        ...row(`upgrade to wallets, ${tasks.toLocaleString('en')} tasks, ${name}`, [
          lower('duration', seconds, 's'),
          ...size,
        ]),
      );
    }
    return figures;
  } finally {
    places.clear();
  }
}

/** Ended tasks of 2 KB with their ledger lines, usage rows and sums. */
function fill(dialect: 'sqlite' | 'postgres', tasks: number): string[] {
  const wide = dialect === 'sqlite' ? 'hex(zeroblob(900))' : `repeat('ab', 900)`;
  const numbers = (count: number) =>
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})`;
  const user = `1 + i % ${USERS}`;
  return [
    `insert into users (username, role, status, created_at, quota, used_quota, request_count)
     ${numbers(USERS)} select 'user-' || i, 1, 1, i, 1000, 5, 5 from n`,
    `insert into tasks (task_id, platform, user_id, "group", channel_id, action, status, progress, created_at, updated_at,
       quota, properties, execution, billing, data, submit_time, finish_time)
     ${numbers(tasks)} select 'task_' || i, 'demo', ${user}, 'default', 1, '', 'SUCCESS', '100%', i, i, 5,
       '{"originModelName":"m"}', '{}', '{}', '{"answer":"' || ${wide} || '"}', i, i + 60 from n`,
    `insert into ledger_entries (user_id, kind, amount, grant_key, created_at)
     ${numbers(USERS)} select i, 'grant', 1000 + 5 * ${Math.floor(tasks / USERS)}, 'grant-' || i, i from n`,
    `insert into ledger_entries (user_id, task_id, kind, attempt, amount, created_at)
     ${numbers(tasks)} select ${user}, 'task_' || i, 'reserve', 1, -6, i from n`,
    `insert into ledger_entries (user_id, task_id, kind, attempt, amount, created_at)
     ${numbers(tasks)} select ${user}, 'task_' || i, 'settle', 0, 1, i from n`,
    `insert into usage_logs (user_id, task_id, channel_id, plugin_key, model, kind, quota, detail, created_at)
     ${numbers(tasks)} select ${user}, 'task_' || i, 1, 'demo', 'm', 'settle', 5, '{}', i from n`,
    ...['usage_dates', 'usage_quarters'].map(
      (
        table,
      ) => `insert into ${table} (start, user_id, api_key_id, channel_id, plugin_key, model, succeeded, failed, spend)
       ${numbers(Math.ceil(tasks / 5))} select 86400 * (i / ${USERS}), ${user}, 0, 1, 'demo', 'm', 5, 0, 25 from n`,
    ),
    `insert into usage_days (user_id, day, plugin_key, model, kind, duration, tasks, quota)
     ${numbers(Math.ceil(tasks / 5))} select ${user}, i / ${USERS}, 'demo', 'm', 'settle', 3, 5, 25 from n`,
  ];
}
