import { Database } from 'bun:sqlite';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { startGateway } from '../test/support/gateway.ts';
import { readHistogram, subtract, upperShare } from './read-histogram.ts';
import { cpuSeconds, readMemory } from './read-processes.ts';
import { atLeast, atMost, type Row } from './row.ts';
import { openStage } from './stage.ts';

/** Tasks in flight, from few to many, so that their rows show what grows. */
const SIZES = [1000, 10_000, 100_000] as const;
const MOST = SIZES[2];
/** A plugin that asks for up to a hundred tasks with one request, and its key. */
const BATCH_PLUGIN = new URL('../test/fixtures/demo-batch.js', import.meta.url);
const BATCH_KEY = 'demo-batch';
/**
 * Up to here every poll is to come in time, on one core; beyond it, as many polls as the machine
 * can do.
 */
const AIMED_SIZE = 10_000;
const AIM_POLLS_PER_SECOND = 3000;
/**
 * Submitted; where more are wanted, their rows are copied, since submitting them all would take
 * longer than the bench.
 */
const SUBMITTED = SIZES[0];
const CLIENTS = 32;
/**
 * Jobs take so long; the tasks' ages are spread evenly over it, as in a gateway that gets them
 * evenly.
 */
const JOB_SECONDS = 3600;
/** The longest time between two polls of a task (TASK_POLL_INTERVAL_SECONDS). */
const INTERVAL_MS = 15_000;
const WARM_UP_MS = INTERVAL_MS;
const WINDOW_MS = 30_000;

type Figures = { lateness: number; perSecond: number; cores: number; rssMb: number };

/** How the vendor is asked: for each task by itself, or for many at once. */
type Mode = 'one by one' | 'in batches';

/**
 * Tasks in flight on one node with the default configuration: how late their polls are, what they
 * cost, and what grows with their number.
 */
export async function benchPolling(): Promise<Row[]> {
  const stage = await openStage({ UPDATE_TASK: 'false', SQLITE_SYNCHRONOUS: 'NORMAL' });
  try {
    let left: number = SUBMITTED;
    const prompt = `a lighthouse in the fog [duration=${JOB_SECONDS}]`;
    await stage.admin.call('POST', '/api/plugin/task', { source: readFileSync(BATCH_PLUGIN, 'utf8') });
    await stage.admin.createChannel(stage.vendor.url, { task_plugin_key: BATCH_KEY, models: ['demo-batch-video'] });
    await Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        while (left-- > 0) await stage.submit(prompt);
      }),
    );
    await stage.gateway.stop();
    const { dataDir } = stage.gateway;
    const rows: Row[] = [];
    let least: Figures | undefined;
    for (const [size, mode] of [...SIZES.map((few) => [few, 'one by one'] as const), [MOST, 'in batches'] as const]) {
      fillUp(dataDir, size, mode);
      const figures = await measure(dataDir);
      least ??= figures;
      rows.push(...describe(`${size.toLocaleString('en')} in flight, asked ${mode}`, size, { figures, least }));
    }
    return rows;
  } finally {
    await stage.stop();
  }
}

async function measure(dataDir: string): Promise<Figures> {
  const gateway = await startGateway({ dataDir });
  try {
    await Bun.sleep(WARM_UP_MS);
    const [before, cpuBefore, begun] = [await readLateness(gateway.url), cpuSeconds(gateway.pid), performance.now()];
    await Bun.sleep(WINDOW_MS);
    const [after, cpuAfter, ended] = [await readLateness(gateway.url), cpuSeconds(gateway.pid), performance.now()];
    const seconds = (ended - begun) / 1000;
    const polls = subtract(after, before);
    return {
      lateness: upperShare(polls, 0.99),
      perSecond: polls.count / seconds,
      cores: (cpuAfter - cpuBefore) / seconds,
      rssMb: readMemory(gateway.pid).rssMb,
    };
  } finally {
    await gateway.stop();
  }
}

function describe(what: string, size: number, { figures, least }: { figures: Figures; least: Figures }): Row[] {
  const { lateness, perSecond, cores, rssMb } = figures;
  const usPerPoll = (of: Figures) => (of.cores / of.perSecond) * 1e6;
  const growth = usPerPoll(figures) / usPerPoll(least);
  return [
    {
      what: `${what}, polls`,
      measured: `p99 ${lateness.toFixed(2)} s late at ${perSecond.toFixed(0)} polls/s`,
      ...(size === AIMED_SIZE && { aim: atMost(lateness, 1, 's') }),
      ...(size > AIMED_SIZE && { aim: atLeast(perSecond, AIM_POLLS_PER_SECOND, '/s') }),
      figures: { p99_lateness_s: lateness, polls_per_second: perSecond },
    },
    {
      what: `${what}, processor and memory`,
      measured: `${cores.toFixed(2)} cores, ${growth.toFixed(2)} × the time a poll of the fewest takes; ${rssMb.toFixed(0)} MB RSS`,
      ...(size === AIMED_SIZE && { aim: atMost(cores, 1, 'core') }),
      figures: { cores, time_per_poll_grows: growth, rss_mb: rssMb },
    },
  ];
}

/**
 * Copies rows until there are `size`, and gives all of them ages from nothing to the length of a
 * job, and the status and due times that polling would have left them with: the vendor has their
 * jobs queued.
 */
function fillUp(dataDir: string, size: number, mode: Mode): void {
  const database = new Database(join(dataDir, 'taskgate.db'));
  const columns = (database.query('select name from pragma_table_info(?)').all('tasks') as { name: string }[])
    .map(({ name }) => `"${name}"`)
    .filter((name) => name !== '"id"' && name !== '"task_id"');
  database.run(
    `with recursive copies(n) as (select ? union all select n + 1 from copies where n + 1 < ?)
     insert into tasks (task_id, ${columns.join()})
     select substr(task_id, 1, 25) || printf('%012d', n * ? + id), ${columns.join()} from tasks, copies
     where id <= ? and n < ?`,
    [countOf(database) / SUBMITTED, size / SUBMITTED, SUBMITTED, SUBMITTED, size / SUBMITTED],
  );
  const key = mode === 'in batches' ? BATCH_KEY : 'demo';
  const now = Math.floor(performance.timeOrigin + performance.now());
  database.run(
    `update tasks set
      status = 'QUEUED', progress = '0%', polls = 1, lease_owner = null, lease_until = 0,
      platform = ?, channel_id = (select id from channels where task_plugin_key = ?),
      submit_time = ? - id * ? / ?,
      next_poll_at = ? + id * 7919 % min(?, max(3000, id * ? / ? * 100))`,
    [key, key, Math.floor(now / 1000), JOB_SECONDS, size, now, INTERVAL_MS, JOB_SECONDS, size],
  );
  if (countOf(database) !== size) throw new Error(`${countOf(database)} tasks instead of ${size}`);
  database.close();
}

const countOf = (database: Database): number =>
  (database.query('select count(*) as count from tasks').get() as { count: number }).count;

const readLateness = async (url: string) =>
  readHistogram(await (await fetch(`${url}/metrics`)).text(), 'taskgate_poll_delay_seconds');
