/**
 * The least that polls in batches with all parts that the gateway must have: `bun
 * bench/least/whole-polls.ts FOLDER VENDOR_URL SECONDS`. Two hook calls in the sandbox and one
 * request for a hundred tasks, the gateway's own claims and writes. Prints polls, seconds and
 * processor seconds as JSON.
 */
import { performance } from 'node:perf_hooks';
import { newTaskId, systemClock } from '../../src/kernel/index.ts';
import type { TaskRecord } from '../../src/store/ports/index.ts';
import { cpuSeconds } from '../read-processes.ts';
import { openParts } from './parts.ts';

const [folder = '', vendorUrl = '', seconds = ''] = process.argv.slice(2);
const TASKS = 50_000;
const INSERTED_AT_ONCE = 500;
const BATCH = 100;
const CLAIMED = 256;
/** Batches in flight, as many as the gateway has for a channel. */
const IN_FLIGHT = 16;
const INTERVAL_MS = 3_000;
const WARM_UP_SECONDS = 4;
const LEASE = { leaseOwner: 'least', leaseForMs: 60_000 };

const { store, userId, walletId, hook, ask } = await openParts(folder, 'FULL', '../../test/fixtures/demo-batch.js');
const answer = { object: 'video.job', status: 'queued', progress: 0, model: 'demo-video', seconds: 4 };

async function insert(number: number): Promise<void> {
  const at = systemClock.unix();
  const taskId = newTaskId(systemClock.nowMs());
  await store.tasks.insert({
    ...{ taskId, platform: 'demo-batch', userId, walletId, apiKeyId: null, group: 'default', channelId: 1 },
    ...{ action: 'text_to_video', quota: 0, createdAt: at, ...LEASE },
    properties: { input: 'a lighthouse in the fog', originModelName: 'demo-video', upstreamModelName: 'demo-video' },
    execution: { requestId: taskId, pluginKey: 'demo-batch', pluginVersion: '1', generation: 1, surface: 'generic' },
    billing: { expression: null, priceKey: null, facts: {}, groupRatio: 1, usd: 0, model: 'demo-video', action: '' },
  });
  const change = { upstreamTaskId: `run-${number}`, submitTime: at, data: answer, status: 'QUEUED' as const };
  await store.tasks.advance({ taskId, leaseOwner: LEASE.leaseOwner, leaseSeq: 1 }, change, 0);
}

for (let number = 0; number < TASKS; number += INSERTED_AT_ONCE)
  await Promise.all(Array.from({ length: INSERTED_AT_ONCE }, (_, index) => insert(number + index)));

const queue: TaskRecord[] = [];
let polls = 0;
let claiming: Promise<void> | undefined;

async function claim(): Promise<void> {
  queue.push(
    ...(await store.tasks.claimDue({ owner: 'least', limit: CLAIMED, leaseForMs: 60_000, exceptChannels: [] })),
  );
  claiming = undefined;
}

async function pollBatch(): Promise<void> {
  while (queue.length < BATCH) {
    claiming ??= claim();
    await claiming;
    if (queue.length < BATCH) await Bun.sleep(5);
  }
  const tasks = queue.splice(0, BATCH);
  const account = { baseUrl: vendorUrl, authHeader: 'vendor-key', apiKey: 'vendor-key', auth: {} };
  const contexts = tasks.map(({ taskId, upstreamTaskId, action, data, state }) => ({
    ...{ taskId: upstreamTaskId, publicTaskId: taskId, action, model: 'demo-video', upstreamModel: 'demo-video' },
    ...{ ...account, data, state },
  }));
  const context = { ...account, tasks: contexts };
  const described = await hook<Parameters<typeof ask>[0]>('buildBatchQueryRequest', context, contexts);
  const body = await ask<{ jobs: { id: string }[] }>(described);
  type Item = { progress: string; data: object; state: object };
  const items = await hook<Item[]>('parseBatchResult', context, body);
  await store.tasks.advanceAll(
    tasks.map((task, index) => ({
      lease: { taskId: task.taskId, leaseOwner: task.leaseOwner ?? '', leaseSeq: task.leaseSeq },
      change: { progress: items[index]?.progress ?? '', state: { ...items[index]?.state }, polls: task.polls + 1 },
      nextPollInMs: INTERVAL_MS,
    })),
  );
  polls += tasks.length;
}

async function pollFor(duration: number): Promise<void> {
  const end = performance.now() + duration * 1000;
  await Promise.all(
    Array.from({ length: IN_FLIGHT }, async () => {
      while (performance.now() < end) await pollBatch();
    }),
  );
}

await pollFor(WARM_UP_SECONDS);
polls = 0;
const [started, before] = [performance.now(), cpuSeconds(process.pid)];
await pollFor(Number(seconds));
const took = (performance.now() - started) / 1000;
process.stdout.write(JSON.stringify({ polls, took, cpu: cpuSeconds(process.pid) - before }));
process.exit(0);
