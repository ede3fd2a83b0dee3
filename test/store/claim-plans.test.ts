import { Database as SqliteFile } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SQL } from 'bun';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import type { RunStatement } from '../../src/store/drivers/connection.ts';
import { migrateStore } from '../../src/store/index.ts';
import type { TaskStore } from '../../src/store/ports/index.ts';
import { createContext } from '../../src/store/repositories/context.ts';
import { createTaskStore } from '../../src/store/repositories/tasks.ts';
import { tablesOf } from '../../src/store/schema/index.ts';
import { testDatabaseUrl } from '../support/postgres.ts';

/** Claims must walk the small indexes of unfinished tasks, or polling slows down with every task that has ended. */
const claims: [string, (tasks: TaskStore) => Promise<unknown>, index: string][] = [
  ['claimDue', (tasks) => tasks.claimDue({ owner: 'o', limit: 10, leaseForMs: 1, exceptChannels: [3] }), 'tasks_due'],
  ['claimInterrupted', (tasks) => tasks.claimInterrupted({ owner: 'o', limit: 10, leaseForMs: 1 }), 'tasks_submitting'],
  [
    'claimOverdue',
    (tasks) => tasks.claimOverdue({ owner: 'o', limit: 10, leaseForMs: 1, submittedBefore: 5 }),
    'tasks_overdue',
  ],
  [
    'advance',
    (tasks) => tasks.advance({ taskId: 't', leaseOwner: 'o', leaseSeq: 1 }, { polls: 1 }, 5),
    'tasks_task_id',
  ],
  ['countUnfinished', (tasks) => tasks.countUnfinished({ channelId: 3 }), 'tasks_unfinished'],
];

const fill = (count: number, status: string) =>
  `insert into tasks (task_id, platform, user_id, "group", channel_id, action, status, progress, created_at, updated_at, quota,
    properties, execution, billing, next_poll_at, submit_time)
   with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
   select '${status}' || i, 'demo', 1, 'default', i % 10, '', '${status}', '', 1, 1, 0, '{}', '{}', '{}', i, i from n`;

async function explained(
  run: RunStatement,
  dialect: 'sqlite' | 'postgres',
  claim: (tasks: TaskStore) => Promise<unknown>,
) {
  const plan: string[] = [];
  const context = createContext(dialect, tablesOf(dialect), systemClock, async (text, params) => {
    const prefix = dialect === 'sqlite' ? 'explain query plan ' : 'explain ';
    plan.push(...(await run(prefix + text, params)).map((row) => String(row.at(-1))));
    return [];
  });
  await claim(createTaskStore(context));
  return plan.join('\n');
}

const setup = { dataDir: '', synchronous: 'NORMAL', clock: systemClock, logger: silentLogger } as const;

describe('claims walk indexes of unfinished tasks', () => {
  test('on SQLite', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'taskgate-plans-'));
    await migrateStore({ ...setup, dataDir, databaseUrl: '' });
    const file = new SqliteFile(join(dataDir, 'taskgate.db'));
    const run: RunStatement = async (text, params) =>
      file.query(text).values(...(params as (string | number | null)[]));
    for (const [name, claim, index] of claims) {
      const plan = await explained(run, 'sqlite', claim);
      expect(`${name}: ${plan}`).toContain(index);
      expect(`${name}: ${plan}`).not.toMatch(/SCAN tasks(?! USING (COVERING )?INDEX)/);
    }
    file.close();
    rmSync(dataDir, { recursive: true });
  });

  test('on PostgreSQL', async () => {
    const databaseUrl = await testDatabaseUrl();
    await migrateStore({ ...setup, databaseUrl });
    const sql = new SQL({ url: databaseUrl, max: 1 });
    for (const [count, status] of [
      [30_000, 'SUCCESS'],
      [2000, 'IN_PROGRESS'],
      [500, 'NOT_START'],
    ] as const) {
      await sql.unsafe(fill(count, status));
    }
    await sql.unsafe('analyze tasks');
    const run: RunStatement = async (text, params) => (await sql.unsafe(text, params).values()) as unknown[][];
    for (const [name, claim, index] of claims) {
      const plan = await explained(run, 'postgres', claim);
      expect(`${name}: ${plan}`).toContain(index);
      expect(`${name}: ${plan}`).not.toContain('Seq Scan on tasks');
    }
    await sql.close();
  });
});
