/**
 * The least that sends waiting tasks with all parts that the gateway must have, and serves reads
 * beside them: `bun bench/least/whole-dispatches.ts FOLDER VENDOR_URL`. A task has
 * three hook calls in the sandbox, one request to the vendor, and the gateway's own statements from
 * the queue to the settlement; what is ready together is written together. Prints its port.
 * `/begin` begins, `/figures` tells how many tasks have ended, any other path reads the user.
 */
import { newTaskId, systemClock } from '../../src/kernel/index.ts';
import type { TakenWaiting, TaskAdvance } from '../../src/store/ports/index.ts';
import { type Descriptor, openParts } from './parts.ts';

const [folder = '', vendorUrl = ''] = process.argv.slice(2);
const WAITING = 40_000;
const INSERTED_AT_ONCE = 500;
const SLOTS = 500;
const MAX_BATCH = 16;
/** How long slots that become free are gathered, as in the gateway. */
const GATHER_MS = 10;
const QUOTA = 200;
const LEASE = { owner: 'least', leaseForMs: 30_000 };
const HOUR_MS = 3_600_000;

const { store, userId, walletId, hook, ask } = await openParts(folder, 'NORMAL', '../../src/plugins/factory/demo.js');
const WAITS_IN = {
  class: 'least',
  plugin: 'demo',
  model: 'demo-video',
  group: 'default',
  channelId: 0,
  credentialId: 0,
};
const sending = { channelId: 1, credentialId: 1, upstreamModel: 'demo-video', slots: 1 };
const requestBody = { model: 'demo-video', prompt: 'a lighthouse in the fog [file=1]' };

async function insertAll(): Promise<void> {
  const names = { originModelName: 'demo-video', upstreamModelName: 'demo-video' };
  const price = { expression: '0.0001 * u("seconds")', priceKey: 'demo::demo-video', groupRatio: 1, usd: 0.0004 };
  for (let done = 0; done < WAITING; done += INSERTED_AT_ONCE)
    await store.transaction(async (tx) => {
      const at = systemClock.unix();
      const taskIds = Array.from({ length: INSERTED_AT_ONCE }, () => newTaskId(systemClock.nowMs()));
      for (const taskId of taskIds)
        await tx.tasks.insert({
          ...{ taskId, platform: 'demo', userId, walletId, apiKeyId: null, group: 'default', channelId: 0 },
          ...{ action: 'text_to_video', quota: QUOTA, createdAt: at, phase: 'waiting' as const },
          ...{ leaseOwner: null, leaseForMs: 0, properties: { input: requestBody.prompt, ...names } },
          execution: { requestId: taskId, pluginKey: 'demo', pluginVersion: '1', generation: 1, surface: 'generic' },
          billing: {
            ...price,
            facts: { seconds: 4, resolution: '720p' },
            model: 'demo-video',
            action: 'text_to_video',
          },
        });
      await tx.waiting.put(
        taskIds.map((taskId) => ({
          ...{
            taskId,
            class: WAITS_IN,
            priority: 0,
            userId,
            apiKeyId: null,
            node: '',
            attached: '',
            parked: '' as const,
          },
          ...{ bytes: 400, cost: 1000, forMs: HOUR_MS, request: { body: { kind: 'json', value: requestBody } } },
        })),
      );
    });
}

let [running, ended] = [0, 0];
let ready: { taken: TakenWaiting; advance: TaskAdvance }[] = [];

/** Takes tasks out of the queue for as long as there are any. */
async function dispatch(): Promise<void> {
  for (;;) {
    const begunMs = performance.now();
    const limit = Math.min(MAX_BATCH, SLOTS - running);
    const taken = limit === 0 ? [] : await take(limit);
    running += taken.length;
    for (const each of taken) void send(each);
    await Bun.sleep(Math.max(0, GATHER_MS - (performance.now() - begunMs)));
  }
}

const take = (limit: number): Promise<TakenWaiting[]> =>
  store.transaction(async (tx) => {
    const heads = await tx.waiting.heads({ class: WAITS_IN.class, priority: 0, nodes: [''], limit });
    const taken = await tx.waiting.take(
      heads.map(({ taskId }) => ({ taskId, sending })),
      LEASE,
    );
    await tx.waiting.count(taken, { isSent: true });
    return taken;
  });

async function send(taken: TakenWaiting): Promise<void> {
  const { taskId } = taken.task;
  const body = taken.entry.request.body as { kind: string; value: object };
  const context = {
    ...{ method: 'POST', path: '/v1/tasks/demo', query: {}, body, requestBody: body.value },
    ...{ requestHeaders: { 'Content-Type': 'application/json', Accept: '*/*' }, files: [], action: 'text_to_video' },
    ...{ publicTaskId: taskId, model: 'demo-video', upstreamModel: 'demo-video', baseUrl: vendorUrl, userSetting: {} },
    ...{ auth: { authHeader: 'vendor-key' }, authHeader: 'vendor-key', apiKey: 'vendor-key' },
  };
  const described = await hook<Descriptor>('buildSubmitRequest', context);
  const answer = await ask<object>({ ...described, method: 'POST' });
  const response = { statusCode: 200, headers: {}, body: answer };
  const job = await hook<{ taskId: string; immediate: object }>('parseSubmitResponse', context, response);
  const facts = await hook<object | null>(
    'extractUsageOnComplete',
    { ...context, data: answer },
    job.immediate,
    answer,
  );
  const at = systemClock.unix();
  const event = { at, status: 'SUCCESS' as const };
  const change = {
    ...{ status: 'SUCCESS' as const, progress: '100%', failReason: '', submitTime: at, finishTime: at, startTime: at },
    ...{ upstreamTaskId: job.taskId, data: answer, quota: QUOTA },
    billing: { ...taken.task.billing, completionFacts: facts },
  } as TaskAdvance['change'];
  const events = [
    { ...event, kind: 'transition' as const },
    { ...event, kind: 'settled' as const, detail: String(QUOTA) },
  ];
  const lease = { taskId, leaseOwner: LEASE.owner, leaseSeq: taken.task.leaseSeq, reserved: QUOTA };
  ready.push({ taken, advance: { lease, change, nextPollInMs: null, events } });
  if (ready.length === 1) setImmediate(() => void end());
}

async function end(): Promise<void> {
  const endings = ready;
  ready = [];
  const at = systemClock.unix();
  const owners = endings.map(({ taken: { task } }) => ({ taskId: task.taskId, userId, walletId, channelId: 1 }));
  await store.transaction(async (tx) => {
    const written = await tx.tasks.advanceAll(endings.map(({ advance }) => advance));
    if (written.includes(false)) throw new Error('a lease was lost');
    await tx.logs.addUsageRows(
      owners.map((owner) => ({
        ...{ ...owner, apiKeyId: null, pluginKey: 'demo', model: 'demo-video', seconds: 0 },
        ...{ kind: 'settle' as const, quota: QUOTA, detail: { price: 'demo::demo-video' }, createdAt: at },
      })),
    );
    const usage = owners.map((owner) => ({ ...owner, apiKeyId: null, credentialId: 1, quota: QUOTA }));
    await tx.ledger.settleAll({ lines: [], usage });
  });
  running -= endings.length;
  ended += endings.length;
}

await insertAll();
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch({ url }) {
    if (url.endsWith('/figures')) return Response.json({ ended });
    if (url.endsWith('/begin')) void dispatch();
    return Response.json(await store.users.byId(userId));
  },
});
process.stdout.write(`${server.port}\n`);
