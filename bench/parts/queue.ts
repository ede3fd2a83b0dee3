import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setUp } from '../../test/support/gateway.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { until } from '../../test/support/until.ts';
import { type Figure, higher, lower, note, percentile, row } from '../figures.ts';
import { formatRequest, sendOverConnections } from '../load/http-client.ts';
import { startBenchVendor } from '../load/start-script.ts';
import type { Run } from '../part.ts';
import { readMemory } from '../read-processes.ts';
import { startBuild } from '../stage.ts';
import { NO_LIMITS } from './requests.ts';

const ACCOUNTS = 10;
const SLOTS = 50;
const WAITING = 100_000;
/** Submitted; the rest are copies of their rows. */
const SUBMITTED = 500;
const WARM_UP_MS = 15_000;
/** Readers rest between their reads: else they take the processor from what is measured. */
const READ_PAUSE_MS = { least: 5, most: 25 };
export const PAUSING_READERS = {
  connections: 2,
  pauseMs: () => READ_PAUSE_MS.least + Math.random() * (READ_PAUSE_MS.most - READ_PAUSE_MS.least),
};
/** Long enough that a start finds the queue as it is, and nothing of it has expired. */
const ENV = {
  ...NO_LIMITS,
  SQLITE_SYNCHRONOUS: 'NORMAL',
  TASK_POLL_INTERVAL_SECONDS: '3',
  TASK_POLL_CHANNEL_CONCURRENCY: String(SLOTS),
};

/**
 * A hundred thousand tasks that wait for ten accounts of fifty slots each, on SQLite: how many are
 * sent a second where each job ends at once, how soon the next follows a freed slot where jobs are
 * polled, and what reads of a session notice of it.
 */
export async function benchQueue(run: Run): Promise<Figure[]> {
  const rate = await measure(run, '[file=1]');
  const gap = await measure(run, '[soon=8000]');
  return [
    ...row(
      `${WAITING.toLocaleString('en')} waiting, jobs end at once`,
      [higher('rate', rate.perSecond, '/s'), note('memory at the end', rate.memoryMb, 'MB'), ...describeReads(rate)],
      { rate: 1_500, 'session reads, times as long': 1.5 },
    ),
    ...row(
      `${WAITING.toLocaleString('en')} waiting, jobs are polled`,
      [
        note('rate', gap.perSecond, '/s'),
        lower('p50 from a freed slot to the next request', percentile(gap.gaps, 0.5), 'ms'),
        lower('p99 from a freed slot to the next request', percentile(gap.gaps, 0.99), 'ms'),
        lower('memory grown', gap.grownMb, 'MB'),
        ...describeReads(gap),
      ],
      { 'p99 from a freed slot to the next request': 100, 'memory grown': 40, 'session reads, times as long': 1.5 },
    ),
  ];
}

/** `alone`, `beside`: how long each read took, in milliseconds. */
type Reads = { alone: number[]; beside: number[] };

export function describeReads({ alone, beside }: Reads) {
  return [
    note('p50 of session reads alone', percentile(alone, 0.5), 'ms'),
    note('p50 of session reads beside', percentile(beside, 0.5), 'ms'),
    note('p99 of session reads beside', percentile(beside, 0.99), 'ms'),
    lower('session reads, times as long', percentile(beside, 0.5) / percentile(alone, 0.5), '×'),
  ];
}

async function measure({ build, seconds }: Run, directive: string) {
  const vendor = await startBenchVendor();
  const dataDir = temporaryFolder();
  try {
    const before = await startBuild(build, { env: ENV, dataDir });
    const admin = await setUp(before);
    await admin.call('PUT', '/api/option/', { key: 'queue.max_waiting_per_user', value: '100000' });
    for (let account = 0; account < ACCOUNTS; account += 1) {
      const key = `account-${account}-of-the-bench`;
      await admin.createChannel(vendor.url, { name: `account ${account}`, key, limits: { max_running: 1 } });
    }
    const price = { plugin_key: 'demo', model: 'demo-video', expression: '0.0001 * u("seconds")' };
    await admin.call('PUT', '/api/price', price);
    const key = await admin.createKey({ name: 'bench' });
    const read = () => formatRequest('GET', '/api/user/self', { headers: { authorization: `Bearer ${admin.token}` } });
    const reads = { ...PAUSING_READERS, next: read, take: () => {} };
    const alone = await sendOverConnections({ port: before.port, seconds, ...reads });
    await submit(before.port, key, { count: ACCOUNTS, prompt: 'it stays' });
    await submit(before.port, key, { count: SUBMITTED, prompt: directive });
    await before.stop();
    fillQueue(dataDir);

    const gateway = await startBuild(build, { env: ENV, dataDir });
    try {
      const base = (await vendor.counts()).creates;
      await until('the first tasks are sent', async () => (await vendor.counts()).creates > base + ACCOUNTS);
      await Bun.sleep(WARM_UP_MS);
      await vendor.gaps();
      const memoryBefore = readMemory(gateway.pid).rssMb;
      const [first, begun] = [(await vendor.counts()).creates, performance.now()];
      const beside = await sendOverConnections({ port: gateway.port, seconds, ...reads });
      const sent = (await vendor.counts()).creates - first;
      const perSecond = sent / ((performance.now() - begun) / 1000);
      const memoryMb = readMemory(gateway.pid).rssMb;
      return {
        perSecond,
        gaps: await vendor.gaps(),
        memoryMb,
        grownMb: memoryMb - memoryBefore,
        alone: [...alone.times],
        beside: [...beside.times],
      };
    } finally {
      await gateway.stop();
    }
  } finally {
    await vendor.stop();
  }
}

async function submit(port: number, key: string, { count, prompt }: { count: number; prompt: string }): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ model: 'demo-video', prompt: `a lighthouse in the fog ${prompt}` });
  for (let sent = 0; sent < count; sent += 1) {
    const answer = await fetch(`http://127.0.0.1:${port}/v1/tasks/demo`, { method: 'POST', headers, body });
    if (answer.status !== 200) throw new Error(`a submission was answered ${answer.status}: ${await answer.text()}`);
    await answer.arrayBuffer();
  }
}

/**
 * Copies the waiting tasks of a stopped gateway, and gives its accounts their slots. The copies lie
 * in the file as they would had they been submitted one after the other: in the order of their
 * turns, with ids that ascend.
 */
function fillQueue(dataDir: string): void {
  const database = new Database(join(dataDir, 'taskgate.db'));
  database.run('pragma synchronous = off');
  const columns = (table: string, except: readonly string[]): string[] =>
    (database.query('select name from pragma_table_info(?)').all(table) as { name: string }[])
      .map(({ name }) => name)
      .filter((name) => !except.includes(name))
      .map((name) => `"${name}"`);
  database.run('create temp table seed as select row_number() over () as number, task_id as seed_id from waiting');
  const [row] = database.query('select count(*) as count from seed').all() as { count: number }[];
  const seeds = row?.count ?? 0;
  const copies = `with recursive copies(n) as (select 1 union all select n + 1 from copies where n < ${Math.floor(WAITING / seeds)})`;
  const id = `substr((select max(seed_id) from seed), 1, 25) || printf('%012d', n * ${seeds} + number)`;
  const ofTasks = columns('tasks', ['id', 'task_id']).join();
  database.run(
    `insert into tasks (task_id, ${ofTasks}) ${copies} select ${id}, ${ofTasks} from seed join tasks on task_id = seed_id, copies order by n, number`,
  );
  const ofWaiting = columns('waiting', ['task_id', 'turn']).join();
  database.run(
    `insert into waiting (task_id, turn, ${ofWaiting}) ${copies} select ${id}, turn + n * 1000000, ${ofWaiting} from seed join waiting on task_id = seed_id, copies order by n, number`,
  );
  database.run(
    'update waiting_classes set waiting = (select count(*) from waiting where waiting.class = waiting_classes.class)',
  );
  database.run(`update channels set limits = '{"maxRunning":${SLOTS + 1}}'`);
  database.close();
}
