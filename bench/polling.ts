import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { startGateway } from '../test/support/gateway.ts';
import { readHistogram, subtract, upperShare } from './read-histogram.ts';
import { cpuSeconds, readMemory } from './read-processes.ts';
import { atMost, type Row } from './row.ts';
import { openStage } from './stage.ts';

const TASKS = 10_000;
const CLIENTS = 32;
/** Jobs take so long; the tasks' ages are spread evenly over it, as in a gateway that gets a job every 60 ms. */
const JOB_SECONDS = 600;
/** The longest time between two polls of a task (TASK_POLL_INTERVAL_SECONDS). */
const INTERVAL_MS = 15_000;
const WARM_UP_MS = INTERVAL_MS;
const WINDOW_MS = 30_000;

/** 10,000 tasks in flight on one node with the default configuration: how late their polls are and what they cost. */
export async function benchPolling(): Promise<Row[]> {
  const stage = await openStage({ UPDATE_TASK: 'false', SQLITE_SYNCHRONOUS: 'NORMAL' });
  try {
    let left = TASKS;
    const prompt = `a lighthouse in the fog [duration=${JOB_SECONDS}]`;
    await Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        while (left-- > 0) await stage.submit(prompt);
      }),
    );
    await stage.gateway.stop();
    spreadAges(stage.gateway.dataDir);

    const gateway = await startGateway({ dataDir: stage.gateway.dataDir });
    try {
      await Bun.sleep(WARM_UP_MS);
      const [before, cpuBefore, begun] = [await readLateness(gateway.url), cpuSeconds(gateway.pid), performance.now()];
      await Bun.sleep(WINDOW_MS);
      const [after, cpuAfter, ended] = [await readLateness(gateway.url), cpuSeconds(gateway.pid), performance.now()];
      const seconds = (ended - begun) / 1000;
      const polls = subtract(after, before);
      const lateness = upperShare(polls, 0.99);
      const perSecond = polls.count / seconds;
      const cores = (cpuAfter - cpuBefore) / seconds;
      const { rssMb, processes } = readMemory(gateway.pid);
      const figures = { p99_lateness_s: lateness, polls_per_second: perSecond, cores, rss_mb: rssMb, processes };
      return [
        {
          what: '10,000 in flight, lateness of a poll',
          measured: `p99 ${lateness.toFixed(2)} s, p50 ${upperShare(polls, 0.5).toFixed(2)} s at ${perSecond.toFixed(0)} polls/s`,
          aim: atMost(lateness, 1, 's'),
          figures,
        },
        {
          what: '10,000 in flight, processor',
          measured: `${cores.toFixed(2)} cores; ${rssMb.toFixed(0)} MB RSS in ${processes} processes`,
          aim: atMost(cores, 1, 'core'),
          figures: { cores },
        },
      ];
    } finally {
      await gateway.stop();
    }
  } finally {
    await stage.stop();
  }
}

/** Gives the stored tasks ages from nothing to the length of a job, and due times as polling would have left them. */
function spreadAges(dataDir: string): void {
  const database = new Database(join(dataDir, 'taskgate.db'));
  const now = Math.floor(performance.timeOrigin + performance.now());
  database.run(
    `update tasks set
      submit_time = ? - id * ? / ?,
      next_poll_at = ? + id * 7919 % min(?, max(3000, id * ? / ? * 100))`,
    [Math.floor(now / 1000), JOB_SECONDS, TASKS, now, INTERVAL_MS, JOB_SECONDS, TASKS],
  );
  database.close();
}

const readLateness = async (url: string) =>
  readHistogram(await (await fetch(`${url}/metrics`)).text(), 'taskgate_poll_delay_seconds');
