import { Database as SqliteFile } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { silentLogger, systemClock } from '../../src/kernel/index.ts';
import type { RunStatement } from '../../src/store/drivers/connection.ts';
import { migrateStore } from '../../src/store/index.ts';
import type { TaskChange } from '../../src/store/ports/index.ts';
import { createRepositories } from '../../src/store/repositories/index.ts';
import { tablesFor } from '../../src/store/schema/index.ts';
import { querySqlite } from '../../src/store/sqlite/open-sqlite.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const TASK = /^update tasks\b/;

/** The indexes that the program of the statement may write; of partial ones the row decides. */
function listWrittenIndexes(file: SqliteFile, text: string, params: unknown[]): string[] {
  const names = new Map<number, string>();
  for (const [name, page] of file.query("select name, rootpage from sqlite_master where type = 'index'").values())
    names.set(Number(page), String(name));
  const opened = new Map<number, string>();
  const written = new Set<string>();
  for (const [, opcode, first, second] of querySqlite(file, `explain ${text}`, params)) {
    if (opcode === 'OpenWrite') opened.set(Number(first), names.get(Number(second)) ?? '');
    if (opcode === 'IdxInsert') written.add(opened.get(Number(first)) ?? '');
  }
  written.delete('');
  return [...written].sort();
}

/** Each entry that is written is a page more in two commits of every task. */
test('a task that moves on is written again only in the indexes of what has changed', async () => {
  const dataDir = temporaryFolder();
  const setup = { dataDir, databaseUrl: '', synchronous: 'NORMAL', clock: systemClock, logger: silentLogger } as const;
  await migrateStore(setup);
  const file = new SqliteFile(join(dataDir, 'taskgate.db'));
  let written: string[] = [];
  const run: RunStatement = async (text, params) => {
    if (TASK.test(text.trim())) written = listWrittenIndexes(file, text, params);
    return [];
  };
  const { tasks } = createRepositories({ dialect: 'sqlite', tables: tablesFor('sqlite'), clock: systemClock, run });
  const listWritten = async (change: TaskChange): Promise<string[]> => {
    const lease = { taskId: 't', leaseOwner: 'o', leaseSeq: 1 };
    await tasks.advanceAll([{ lease, change, nextPollInMs: 5 }]);
    return written;
  };
  expect(await listWritten({ polls: 1 })).toEqual(['tasks_due', 'tasks_submitting']);
  const accepted = ['tasks_answers', 'tasks_due', 'tasks_open', 'tasks_overdue', 'tasks_submitting'];
  expect(await listWritten({ status: 'SUBMITTED', upstreamTaskId: 'job', submitTime: 5 })).toEqual(accepted);
  file.close();
  rmSync(dataDir, { recursive: true });
});
