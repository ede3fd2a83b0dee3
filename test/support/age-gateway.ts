import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { type Gateway, type GatewayOptions, startGateway } from './gateway.ts';

const DAY = 86_400;
/** Its figures: sums and samples. */
const SUMS = ['usage_days', 'usage_dates', 'usage_quarters', 'channel_hours'];

/**
 * Stops a gateway on SQLite, spreads all tasks but the last ones over the past days, gives it a day
 * of samples, and starts it again.
 */
export async function ageGateway(gateway: Gateway, options: GatewayOptions & { days: number; recent: number }) {
  await gateway.stop();
  const database = new Database(join(gateway.dataDir, 'taskgate.db'));
  const { newest } = database.query('select max(id) as newest from tasks').get() as { newest: number };
  const last = newest - options.recent;
  // More tasks on later days, none on some, in the order of their numbers.
  const share = `(1.0 - task.id * 1.0 / ${last})`;
  const back = `cast(${options.days * DAY} * ${share} * sqrt(${share}) as integer)`;
  const shift = (table: string, columns: readonly string[], taskOf: string): void => {
    const moved = columns.map((name) => `${name} = ${name} - (select ${back} from tasks as task where ${taskOf})`);
    const aged = `exists (select 1 from tasks as task where ${taskOf} and task.id <= ${last})`;
    database.run(`update ${table} set ${moved.join()} where ${aged}`);
  };
  for (const [table, column] of Object.entries({
    task_events: 'at',
    ledger_entries: 'created_at',
    usage_logs: 'created_at',
  }))
    shift(table, [column], `task.task_id = ${table}.task_id`);
  shift('tasks', ['created_at', 'updated_at', 'submit_time', 'start_time', 'finish_time'], 'task.id = tasks.id');
  // What they were paid from was there before them.
  database.run(`update ledger_entries set created_at = created_at - ${(options.days + 1) * DAY} where task_id is null`);
  // Tasks end in another order than they begin. A list has the latest number first.
  database.run(`create temp table renumbered as
    select id, row_number() over (order by created_at, id) as place from usage_logs`);
  database.run('update usage_logs set id = -(select place from renumbered where renumbered.id = usage_logs.id)');
  database.run('update usage_logs set id = -id');
  for (const table of SUMS) database.run(`delete from ${table}`);
  database.run('update usage_progress set until = 0');
  database.run('update usage_sums_progress set until = 0, quarters_from = 0');
  addSamples(database);
  database.close();
  const { days: _days, recent: _recent, ...rest } = options;
  return startGateway({ ...rest, dataDir: gateway.dataDir, port: gateway.port });
}

/** A sample each ten minutes of the last day, with a busy noon. */
function addSamples(database: Database): void {
  database.run(`
    with recursive steps(n) as (select 0 union all select n + 1 from steps where n < 143)
    insert or replace into gateway_samples (start, unfinished, due, lateness_ms, database_bytes)
    select cast(strftime('%s', 'now') / 600 as integer) * 600 - (144 - n) * 600,
      abs(n - 72) % 40 + n % 5, n % 3, 40 + (n * 29) % 60, 2000000 + n * 9000 from steps`);
  database.run(`
    insert or replace into node_samples (node_id, start, polls, lag_ms)
    select 'node', start, 20 + unfinished * 3, 2 + (start / 600 * 7) % 9 from gateway_samples`);
}
