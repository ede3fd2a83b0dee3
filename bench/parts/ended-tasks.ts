import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { type Figure, lower, note, row } from '../figures.ts';
import type { Run } from '../part.ts';
import { cpuSeconds } from '../read-processes.ts';
import { openStage, startBuild } from '../stage.ts';
import { CROWDED_INTERVAL_SECONDS } from './polls.ts';

/** Tasks of each half. */
export const ENDED_TASKS = 2_000;
const CLIENTS = 32;
/** Jobs end half to one and a half times as long after their first poll. */
const ENDED_AFTER_MS = 12_000;
/** Longer than the jobs of the first half take, with their last poll. */
const SECOND_HALF_AFTER_MS = 30_000;
const LONGEST_WAIT_SECONDS = 120;

/**
 * What tasks cost from their first poll to their settlement: in a process that has just started,
 * whose code is still being compiled, and in the same process when as many tasks have ended.
 */
export async function benchEndedTasks({ build }: Run): Promise<Figure[]> {
  const env = {
    SQLITE_SYNCHRONOUS: 'NORMAL',
    TASK_POLL_INTERVAL_SECONDS: String(CROWDED_INTERVAL_SECONDS),
  };
  const stage = await openStage(build, { ...env, UPDATE_TASK: 'false' });
  try {
    await stage.admin.call('PUT', '/api/option', { key: 'results.keep', value: 'asked' });
    let left = 2 * ENDED_TASKS;
    await Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        while (left-- > 0) await stage.submit(`a lighthouse in the fog [polled=${ENDED_AFTER_MS}]`);
      }),
    );
    const { dataDir } = stage.gateway;
    await stage.gateway.stop();
    setDueTimes(dataDir);
    const gateway = await startBuild(build, { dataDir, env });
    const measure = async (what: string, ended: number): Promise<Figure[]> => {
      const [begun, { polls }] = [cpuSeconds(gateway.pid), await stage.vendor.counts()];
      await awaitEnded(gateway.url, ended);
      return row(what, [
        lower('processor a task', ((cpuSeconds(gateway.pid) - begun) / ENDED_TASKS) * 1e6, 'µs'),
        note('polls a task', ((await stage.vendor.counts()).polls - polls) / ENDED_TASKS, ''),
      ]);
    };
    try {
      const count = ENDED_TASKS.toLocaleString('en');
      return [
        ...(await measure(`${count} tasks polled to their end after a start`, ENDED_TASKS)),
        ...(await measure(`${count} tasks polled to their end after those`, 2 * ENDED_TASKS)),
      ];
    } finally {
      await gateway.stop();
    }
  } finally {
    await stage.stop();
  }
}

/** Both halves are due over one interval: the first one now, the second when that has ended. */
function setDueTimes(dataDir: string): void {
  const database = new Database(join(dataDir, 'taskgate.db'));
  database.run('update tasks set next_poll_at = ? + id * 7919 % ? + case when id > ? then ? else 0 end', [
    Math.floor(performance.timeOrigin + performance.now()),
    CROWDED_INTERVAL_SECONDS * 1000,
    ENDED_TASKS,
    SECOND_HALF_AFTER_MS,
  ]);
  database.close();
}

/** Looks once a second: reading the metrics costs the gateway. */
async function awaitEnded(url: string, tasks: number): Promise<void> {
  for (let second = 0; second < LONGEST_WAIT_SECONDS; second += 1) {
    if ((await countEnded(url)) >= tasks) return;
    await Bun.sleep(1000);
  }
  throw new Error(`${tasks} tasks have not ended within ${LONGEST_WAIT_SECONDS} s`);
}

async function countEnded(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const counts = text.matchAll(/^taskgate_tasks_ended_total\{[^}]*outcome="success"[^}]*\} (\d+)/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}
