/** A gateway of many: what lists, filters, charts and the search must stay quick with. */
import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { GIVE_WALLETS } from './backdoor.ts';
import type { Administrator, Gateway, VendorProcess } from './gateway.ts';
import { submit, waitForEnd } from './main-job.ts';

export const LARGE = { tasks: 100_000, users: 1000, keys: 500, channels: 500, audit: 20_000 } as const;

/** Over how many seconds the tasks are spread: 60 days. */
const PERIOD = 60 * 86_400;

/**
 * Two real tasks, one of which failed, and copies of them. Needs a gateway on SQLite with its root
 * account and a running demo vendor. `Key N` is that of `user-(N + 1)`.
 */
export async function fillLargeGateway(
  gateway: Gateway,
  root: Administrator,
  vendor: VendorProcess,
): Promise<{ key: string }> {
  const channelId = await root.createChannel(vendor.url, { name: 'First channel' });
  await root.call('PUT', '/api/price', {
    plugin_key: 'demo',
    model: 'demo-video',
    expression: '0.02 * u("seconds")',
  });
  const { key } = await root.call<{ key: string }>('POST', '/api/token', { name: 'tests', unlimited_quota: true });
  for (const prompt of ['a boat', 'a lost one [fail]']) {
    const { body } = await submit(gateway.url, key, { prompt: `${prompt} [duration=0.2]`, seconds: 5 });
    await waitForEnd(gateway.url, key, String(body.id));
  }
  await root.createUser({ username: 'user-1' });
  const file = new Database(join(gateway.dataDir, 'taskgate.db'));
  file.run('pragma busy_timeout = 10000');
  // The oldest first, as tasks are inserted; the last one ended a minute ago.
  const measureTime = (count: number): string =>
    `cast(strftime('%s', 'now') as integer) - 110 - (${count} - i) * ${PERIOD} / ${count}`;
  const taskTime = measureTime(LARGE.tasks / 2);
  // Root is the first of the users.
  const spread = { user_id: `1 + i % ${LARGE.users}`, api_key_id: `1 + i % ${LARGE.keys}` };
  file.transaction(() => {
    copy(
      file,
      { table: 'users', count: LARGE.users - 2, which: "username = 'user-1'" },
      { username: "'user-' || (i + 1)", aff_code: 'null' },
    );
    file.run(GIVE_WALLETS);
    copy(
      file,
      { table: 'api_keys', count: LARGE.keys - 1, which: 'id = 1' },
      {
        user_id: `(select id from users where username = 'user-' || (i + 1))`,
        wallet_id: `(select w.id from wallets w join users u on u.id = w.user_id where u.username = 'user-' || (i + 1))`,
        name: "'Key ' || i",
        key_hash: 'hex(randomblob(32))',
        prefix: "'sk-' || i",
      },
    );
    copy(
      file,
      { table: 'channels', count: LARGE.channels - 1, which: `id = ${channelId}` },
      { name: "'Channel ' || i", priority: '-10' },
    );
    copy(
      file,
      { table: 'tasks', count: LARGE.tasks / 2 },
      {
        ...spread,
        task_id: "'task_copy' || i || 'of' || t.id",
        channel_id: `1 + i % ${LARGE.channels}`,
        created_at: taskTime,
        submit_time: taskTime,
        finish_time: `${taskTime} + i % 50`,
      },
    );
    copy(
      file,
      { table: 'usage_logs', count: LARGE.tasks / 2 },
      {
        ...spread,
        task_id: "'task_copy' || i || 'of' || t.id",
        channel_id: `1 + i % ${LARGE.channels}`,
        model: "'model-' || (i % 30)",
        created_at: taskTime,
      },
    );
    copy(
      file,
      { table: 'audit_logs', count: LARGE.audit, which: 'id = (select min(id) from audit_logs)' },
      {
        username: "'user-' || (i % 1000)",
        action: "case i % 3 when 0 then 'channel.update' when 1 then 'user.update' else 'api_key.create' end",
        target: "'channel:' || (i % 500)",
        created_at: measureTime(LARGE.audit),
        ...{ chain: "''", prev_hash: "''", hash: "''" },
      },
    );
    // Usage is added up in the order of its time: all of it again.
    for (const table of ['usage_progress', 'usage_sums_progress']) file.run(`update ${table} set until = 0`);
  })();
  file.run('analyze');
  file.close();
  // The gateway reads its channels again.
  await root.call('PUT', `/api/channel/${channelId}`, { name: 'First channel' });
  return { key };
}

/** `count` copies of each row of `which`, with some columns written again; `i` counts them. */
function copy(
  file: Database,
  { table, count, which = 'true' }: { table: string; count: number; which?: string },
  columns: Readonly<Record<string, string>>,
): void {
  const names = (file.query(`select name from pragma_table_info('${table}')`).all() as { name: string }[])
    .map(({ name }) => name)
    .filter((name) => name !== 'id');
  const values = names.map((name) => columns[name] ?? `t."${name}"`);
  file.run(
    `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
     insert into ${table} (${names.map((name) => `"${name}"`)})
     select ${values} from n, (select * from ${table} where ${which}) t order by i`,
  );
}
