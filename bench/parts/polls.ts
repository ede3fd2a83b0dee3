import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import type { Gateway } from '../../test/support/gateway.ts';
import type { Build } from '../builds.ts';
import { type Figure, higher, lower, row } from '../figures.ts';
import { fillWithRunningTasks, type PollMode } from '../fill-tasks.ts';
import { type Keeping, keepResults } from '../load/keep-results.ts';
import type { Run } from '../part.ts';
import { readHistogram, subtract, upperShare } from '../read-histogram.ts';
import { cpuSeconds, readMemory, threadSeconds } from '../read-processes.ts';
import { openStage, type Stage, startBuild } from '../stage.ts';

/** A plugin that asks for up to a hundred tasks with one request, and its key. */
const BATCH_PLUGIN = new URL('../../test/fixtures/demo-batch.js', import.meta.url);
const BATCH_KEY = 'demo-batch';
/** Up to here every poll is to come in time, on one core. */
const TIMELY_SIZE = 10_000;
/**
 * Submitted; where more are wanted, their rows are copied, since submitting them all would take
 * longer than the bench.
 */
const SUBMITTED = 1_000;
const CLIENTS = 32;
/** A result that is kept beside polls: a video of some seconds. */
const KEPT_BYTES = 20_000_000;
/** The longest time between two polls of a task (TASK_POLL_INTERVAL_SECONDS). */
const INTERVAL_SECONDS = 15;
/** So short that more is due than can be polled: the rate is then what the gateway can do. */
export const CROWDED_INTERVAL_SECONDS = 3;
const CROWDED_WARM_UP_SECONDS = 6;
/** A gateway has asked about most of its tasks before: each is polled once first, within this. */
const LONGEST_ROUND_SECONDS = 60;

export type PollCase = {
  size: number;
  mode: PollMode;
  intervalSeconds: number;
  /** Load beside the polls, while they are measured and before. */
  beside?: (gateway: Gateway) => { stop(): Promise<void> };
};
export type MeasuredPolls = {
  lateness: number;
  perSecond: number;
  cores: number;
  rssMb: number;
  /** Processor microseconds a poll of the main thread, and of all processes. */
  mainUs: number;
  allUs: number;
  /** The window in which it was measured, and how many polls fell into it. */
  fromMs: number;
  toMs: number;
  count: number;
};

/** Tasks that their vendor is asked about in time: how late the polls are, and what they cost. */
export const benchTimelyPolls = (run: Run): Promise<Figure[]> =>
  withSubmitted(run, async (measure) => {
    const size = Math.min(TIMELY_SIZE, run.inFlight);
    const figures = await measure({ size, mode: 'one by one', intervalSeconds: INTERVAL_SECONDS });
    return describe(`polls in time, ${size.toLocaleString('en')} in flight`, figures, { 'p99 late': 1, processor: 1 });
  });

/** Timely polls while results are kept all the time: copies must leave polls their room. */
export const benchPollsWhileKeeping = (run: Run): Promise<Figure[]> =>
  withSubmitted(run, async (measure, { key }) => {
    const size = Math.min(TIMELY_SIZE, run.inFlight);
    let keeping: Keeping | undefined;
    let begun = 0;
    const polls: PollCase = {
      ...{ size, mode: 'one by one', intervalSeconds: INTERVAL_SECONDS },
      beside(gateway) {
        keeping = keepResults(gateway, { key, bytes: KEPT_BYTES });
        begun = performance.now();
        return keeping;
      },
    };
    const figures = await measure(polls);
    const perSecond = (keeping?.kept() ?? 0) / ((performance.now() - begun) / 1000);
    const what = `polls in time while results are kept, ${size.toLocaleString('en')} in flight`;
    return [
      ...describe(what, figures, { 'p99 late': 1 }),
      ...row(what, [higher('kept beside', (perSecond * KEPT_BYTES) / 1e6, 'MB/s')]),
    ];
  });

/** More tasks than can be polled in time: how many polls a second there are. */
export const benchManyPolls = (run: Run): Promise<Figure[]> =>
  withSubmitted(run, async (measure) => {
    const size = run.inFlight;
    const count = `${size.toLocaleString('en')} in flight`;
    const crowded = { size, intervalSeconds: CROWDED_INTERVAL_SECONDS };
    const alone = await measure({ ...crowded, mode: 'one by one' });
    const batches = await measure({ ...crowded, mode: 'in batches' });
    const moving = await measure({ ...crowded, mode: 'one by one, moving' });
    return [
      ...describe(`polls one by one, ${count}`, alone, { rate: 5_000, 'processor a 1,000 polls': 0.25 }),
      ...describe(`polls in batches, ${count}`, batches, { rate: 10_000 }),
      ...describe(`polls one by one, each answer new, ${count}`, moving, {}),
    ];
  });

/** A stopped gateway with submitted tasks; `work` measures polls of as many copies as it wants. */
export async function withSubmitted(
  { build, inFlight, seconds }: Run,
  work: (measure: (polls: PollCase, by?: Build) => Promise<MeasuredPolls>, stage: Stage) => Promise<Figure[]>,
): Promise<Figure[]> {
  const stage = await openStage(build, { UPDATE_TASK: 'false', SQLITE_SYNCHRONOUS: 'NORMAL' });
  try {
    let left = Math.min(SUBMITTED, inFlight);
    await stage.admin.call('PUT', '/api/option', { key: 'results.keep', value: 'asked' });
    await stage.admin.call('POST', '/api/plugin/task', { source: readFileSync(BATCH_PLUGIN, 'utf8') });
    await stage.admin.createChannel(stage.vendor.url, { task_plugin_key: BATCH_KEY, models: ['demo-batch-video'] });
    await Promise.all(
      Array.from({ length: CLIENTS }, async () => {
        while (left-- > 0) await stage.submit('a lighthouse in the fog');
      }),
    );
    await stage.gateway.stop();
    const { dataDir } = stage.gateway;
    return await work(async ({ size, mode, intervalSeconds, beside }, by = build) => {
      fillWithRunningTasks(dataDir, { size, mode, intervalSeconds, batchKey: BATCH_KEY });
      const env = { TASK_POLL_INTERVAL_SECONDS: String(intervalSeconds) };
      const gateway = await startBuild(by, { dataDir, env });
      const isTimely = intervalSeconds === INTERVAL_SECONDS;
      const load = beside?.(gateway);
      try {
        await Bun.sleep((isTimely ? INTERVAL_SECONDS : CROWDED_WARM_UP_SECONDS) * 1000);
        if (!isTimely) await awaitRound(gateway.url, size);
        return await measurePolls(gateway, isTimely ? 2 * INTERVAL_SECONDS : 2 * seconds);
      } finally {
        await load?.stop();
        await gateway.stop();
      }
    }, stage);
  } finally {
    await stage.stop();
  }
}

const readDelays = async (url: string) =>
  readHistogram(await (await fetch(`${url}/metrics`)).text(), 'taskgate_poll_delay_seconds');

/** Waits until there were as many polls as tasks. */
async function awaitRound(url: string, size: number): Promise<void> {
  for (let second = CROWDED_WARM_UP_SECONDS; second < LONGEST_ROUND_SECONDS; second += 1) {
    if ((await readDelays(url)).count >= size) return;
    await Bun.sleep(1000);
  }
}

async function measurePolls(gateway: { url: string; pid: number }, windowSeconds: number): Promise<MeasuredPolls> {
  const read = async () => ({
    polls: await readDelays(gateway.url),
    cpu: cpuSeconds(gateway.pid),
    main: threadSeconds(gateway.pid),
    at: performance.timeOrigin + performance.now(),
  });
  const before = await read();
  await Bun.sleep(windowSeconds * 1000);
  const after = await read();
  const seconds = (after.at - before.at) / 1000;
  const polls = subtract(after.polls, before.polls);
  return {
    lateness: upperShare(polls, 0.99),
    perSecond: polls.count / seconds,
    cores: (after.cpu - before.cpu) / seconds,
    rssMb: readMemory(gateway.pid).rssMb,
    mainUs: ((after.main - before.main) / polls.count) * 1e6,
    allUs: ((after.cpu - before.cpu) / polls.count) * 1e6,
    fromMs: before.at,
    toMs: after.at,
    count: polls.count,
  };
}

const describe = (what: string, measured: MeasuredPolls, aims: Record<string, number>): Figure[] =>
  row(
    what,
    [
      higher('rate', measured.perSecond, '/s'),
      lower('p99 late', measured.lateness, 's'),
      lower('processor a 1,000 polls', (measured.cores / measured.perSecond) * 1000, 's'),
      lower('processor', measured.cores, 'cores'),
      lower('RSS', measured.rssMb, 'MB'),
    ],
    aims,
  );
