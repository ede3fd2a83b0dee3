import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';

/** How the vendor is asked, and whether its answers differ from the former ones. */
export type PollMode = 'one by one' | 'one by one, moving' | 'in batches';

/**
 * Jobs take this long; the tasks' ages are spread evenly over it, as in a gateway that gets them
 * evenly.
 */
const JOB_SECONDS = 3600;

/**
 * Copies the tasks of a stopped gateway until there are `size`, and gives all of them ages from
 * nothing to the length of a job, and the status and due times that polling would have left them
 * with: the vendor has their jobs queued.
 */
export function fillWithRunningTasks(
  dataDir: string,
  options: { size: number; mode: PollMode; intervalSeconds: number; batchKey: string },
): void {
  const { size, mode, intervalSeconds } = options;
  const database = new Database(join(dataDir, 'taskgate.db'));
  copyTasks(database, size);
  const key = mode === 'in batches' ? options.batchKey : 'demo';
  const now = Math.floor(performance.timeOrigin + performance.now());
  const kind = mode === 'one by one, moving' ? 'new' : 'run';
  database.run(
    `update tasks set
      status = 'QUEUED', progress = '0%', polls = 1, lease_owner = null, lease_until = 0,
      upstream_task_id = ? || substr(upstream_task_id, 4),
      platform = ?, channel_id = (select id from channels where task_plugin_key = ?),
      submit_time = ? - id * ? / ?,
      next_poll_at = ? + id * 7919 % min(?, max(3000, id * ? / ? * 100))`,
    [
      ...[kind, key, key],
      ...[Math.floor(now / 1000), JOB_SECONDS, size],
      ...[now, intervalSeconds * 1000, JOB_SECONDS, size],
    ],
  );
  // The plugin that began them would poll them. Earlier builds do not note which one that was.
  if (readColumns(database).includes('source_hash')) database.run(`update tasks set source_hash = ''`);
  database.close();
}

/** Copies all tasks of a stopped gateway, whatever they are, until there are `size`. */
export function fillWithCopies(dataDir: string, size: number): void {
  const database = new Database(join(dataDir, 'taskgate.db'));
  database.run('pragma synchronous = off');
  copyTasks(database, size);
  database.close();
}

/** As `fillWithCopies`; each task is ended and paid, so that balances are sums of ledger lines. */
export function fillWithBilledCopies(dataDir: string, size: number): void {
  const database = new Database(join(dataDir, 'taskgate.db'));
  database.run('pragma synchronous = off');
  copyTasks(database, size);
  database.run(`update tasks set status = 'SUCCESS', progress = '100%', lease_owner = null, lease_until = 0`);
  database.run(`delete from ledger_entries where task_id is not null`);
  database.run(
    `insert into ledger_entries (wallet_id, api_key_id, task_id, kind, amount, created_at)
     select coalesce(wallet_id, user_id), api_key_id, task_id, 'reserve', -quota, created_at from tasks`,
  );
  database.run(
    `insert into ledger_entries (wallet_id, kind, amount, grant_key, created_at)
     select id, 'grant', 1000000000000, 'bench ' || id, created_at from wallets`,
  );
  database.run(
    'update wallets set quota = (select coalesce(sum(amount), 0) from ledger_entries where wallet_id = wallets.id)',
  );
  database.close();
}

function copyTasks(database: Database, size: number): void {
  const columns = readColumns(database)
    .filter((name) => name !== 'id' && name !== 'task_id')
    .map((name) => `"${name}"`);
  const present = countRows(database);
  if (size % present !== 0) throw new Error(`${size} tasks cannot be made of ${present}: give a multiple`);
  database.run(
    `with recursive copies(n) as (select 1 union all select n + 1 from copies where n + 1 < ?)
     insert into tasks (task_id, ${columns.join()})
     select substr(task_id, 1, 25) || printf('%012d', n * ? + id), ${columns.join()} from tasks, copies
     where id <= ? and n < ?`,
    [size / present, present, present, size / present],
  );
  if (countRows(database) !== size) throw new Error(`${countRows(database)} tasks instead of ${size}`);
}

const readColumns = (database: Database): string[] =>
  (database.query('select name from pragma_table_info(?)').all('tasks') as { name: string }[]).map(({ name }) => name);

const countRows = (database: Database): number =>
  (database.query('select count(*) as count from tasks').get() as { count: number }).count;
