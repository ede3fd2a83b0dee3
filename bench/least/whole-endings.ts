/**
 * The least that polls tasks to their end with all parts that the gateway must have: `bun
 * bench/least/whole-endings.ts FOLDER VENDOR_URL TASKS INTERVAL_MS`. Five hook calls in the
 * sandbox, an answer known again by its digest, the gateway's own claims, writes and settlement;
 * what is due together is written together. As many tasks end first, which warm the process up.
 * Prints tasks, polls and processor seconds as JSON.
 */
import { newTaskId, sha256Hex, systemClock } from '../../src/kernel/index.ts';
import type { TaskAdvance, TaskRecord } from '../../src/store/ports/index.ts';
import { cpuSeconds } from '../read-processes.ts';
import { type Descriptor, openParts } from './parts.ts';

const [folder = '', vendorUrl = '', tasksText = '', intervalText = ''] = process.argv.slice(2);
const [TASKS, INTERVAL_MS] = [Number(tasksText), Number(intervalText)];
const INSERTED_AT_ONCE = 500;
const CLAIMED = 256;
const LOOK_EVERY_MS = 100;
/** How long a write waits for others, as in the gateway. */
const GATHER_MS = 25;
const ENDED_AFTER_MS = 12_000;
const QUOTA = 200;
const LEASE = { leaseOwner: 'least', leaseForMs: 60_000 };

const { store, userId, walletId, hook, askText } = await openParts(
  folder,
  'NORMAL',
  '../../src/plugins/factory/demo.js',
);
const account = { baseUrl: vendorUrl, authHeader: 'vendor-key', apiKey: 'vendor-key', auth: {} };
const submitted = { object: 'video.job', status: 'queued', progress: 0, model: 'demo-video', seconds: 4 };

type Job = { status: string; progress: string };
type Ended = { task: TaskRecord; advance: TaskAdvance };

async function insert(number: number, dueInMs: number): Promise<void> {
  const at = systemClock.unix();
  const taskId = newTaskId(systemClock.nowMs());
  const names = { originModelName: 'demo-video', upstreamModelName: 'demo-video' };
  const price = { expression: '0.0001 * u("seconds")', priceKey: 'demo::demo-video', groupRatio: 1, usd: 0.0004 };
  await store.transaction(async (tx) => {
    await tx.tasks.insert({
      ...{ taskId, platform: 'demo', userId, walletId, apiKeyId: null, group: 'default', channelId: 1 },
      ...{ action: 'text_to_video', quota: QUOTA, createdAt: at, ...LEASE },
      properties: { input: 'a lighthouse in the fog', ...names },
      execution: { requestId: taskId, pluginKey: 'demo', pluginVersion: '1.0.0', generation: 1, surface: 'generic' },
      billing: { ...price, facts: { seconds: 4, resolution: '720p' }, model: 'demo-video', action: 'text_to_video' },
    });
    await tx.ledger.reserve({ walletId, userId, apiKeyId: null, taskId, attempt: 1, amount: QUOTA, at });
  });
  const upstreamTaskId = `poll-${number}-${Math.round(ENDED_AFTER_MS * (0.5 + Math.random()))}`;
  const change = { upstreamTaskId, submitTime: at, data: submitted, status: 'QUEUED' as const };
  await store.tasks.advance({ taskId, leaseOwner: LEASE.leaseOwner, leaseSeq: 1 }, change, dueInMs);
}

/** Collects what comes within a moment, and writes it together. */
function gather<T>(write: (values: T[]) => Promise<void>): (value: T) => void {
  let waiting: T[] = [];
  return (value) => {
    waiting.push(value);
    if (waiting.length > 1) return;
    setTimeout(() => {
      const values = waiting;
      waiting = [];
      void write(values);
    }, GATHER_MS);
  };
}

const requests = new Map<string, Descriptor>();
const digests = new Map<string, string>();
const underway = new Set<number>();
let [polls, ended] = [0, 0];

const free = (tasks: readonly TaskRecord[]): void => {
  for (const { id } of tasks) underway.delete(id);
};
const toLease = ({ taskId, leaseOwner, leaseSeq }: TaskRecord) => ({ taskId, leaseOwner: leaseOwner ?? '', leaseSeq });

const postpone = gather<TaskRecord>(async (tasks) => {
  await store.tasks.advanceAll(
    tasks.map((task) => ({
      lease: toLease(task),
      change: { progress: '0%', pollFailures: 0, polls: task.polls + 1 },
      nextPollInMs: INTERVAL_MS,
    })),
  );
  free(tasks);
});

const end = gather<Ended>(async (endings) => {
  const at = systemClock.unix();
  await store.transaction(async (tx) => {
    await tx.tasks.advanceAll(endings.map(({ advance }) => advance));
    await tx.logs.addUsageRows(
      endings.map(({ task: { taskId, channelId } }) => ({
        ...{ taskId, userId, walletId, apiKeyId: null, channelId, pluginKey: 'demo', model: 'demo-video', seconds: 12 },
        ...{ kind: 'settle' as const, quota: QUOTA, detail: { price: 'demo::demo-video' }, createdAt: at },
      })),
    );
    const usage = endings.map(({ task: { taskId, channelId } }) => ({
      ...{ taskId, userId, walletId, apiKeyId: null, channelId, credentialId: null, quota: QUOTA },
    }));
    await tx.ledger.settleAll({ lines: [], usage });
  });
  free(endings.map(({ task }) => task));
  ended += endings.length;
});

async function poll(task: TaskRecord): Promise<void> {
  const { taskId, upstreamTaskId, action, data, state } = task;
  const context = {
    ...{ taskId: upstreamTaskId, publicTaskId: taskId, action, model: 'demo-video', upstreamModel: 'demo-video' },
    ...{ ...account, data, state },
  };
  const request = requests.get(taskId) ?? (await hook<Descriptor>('buildQueryRequest', context));
  requests.set(taskId, request);
  const text = await askText(request);
  polls += 1;
  const digest = sha256Hex(text);
  if (digests.get(taskId) === digest) return postpone(task);
  digests.set(taskId, digest);
  const body = JSON.parse(text);
  const job = await hook<Job>('parseTaskResult', context, body, { statusCode: 200, headers: {}, body });
  const facts = await hook<object | null>('extractUsageOnComplete', context, job, body);
  if (job.status !== 'SUCCESS') return postpone(task);
  requests.delete(taskId);
  const at = systemClock.unix();
  const event = { at, status: 'SUCCESS' as const };
  const change = {
    ...{ status: 'SUCCESS' as const, progress: '100%', failReason: '', finishTime: at, startTime: at, data: body },
    ...{ polls: task.polls + 1, pollFailures: 0, quota: QUOTA, billing: { ...task.billing, completionFacts: facts } },
  };
  const events = [
    { ...event, kind: 'transition' as const },
    { ...event, kind: 'settled' as const, detail: String(QUOTA) },
  ];
  const lease = { ...toLease(task), reserved: QUOTA };
  end({ task, advance: { lease, change: change as TaskAdvance['change'], nextPollInMs: null, events } });
}

async function pollUntil(enough: number): Promise<void> {
  while (ended < enough) {
    const claim = { owner: 'least', limit: CLAIMED, leaseForMs: 60_000, exceptChannels: [], held: [...underway] };
    for (const task of await store.tasks.claimDue(claim)) {
      underway.add(task.id);
      void poll(task);
    }
    await Bun.sleep(LOOK_EVERY_MS);
  }
}

async function insertAll(first: number): Promise<void> {
  for (let number = 0; number < TASKS; number += INSERTED_AT_ONCE)
    await Promise.all(
      Array.from({ length: INSERTED_AT_ONCE }, (_, index) =>
        insert(first + number + index, ((number + index) / TASKS) * INTERVAL_MS),
      ),
    );
}

await insertAll(0);
await pollUntil(TASKS);
await insertAll(TASKS);
polls = 0;
const before = cpuSeconds(process.pid);
await pollUntil(2 * TASKS);
process.stdout.write(JSON.stringify({ tasks: TASKS, polls, cpu: cpuSeconds(process.pid) - before }));
process.exit(0);
