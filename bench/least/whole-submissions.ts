/**
 * The least that submits with all parts that the gateway must have: `bun
 * bench/least/whole-submissions.ts FOLDER FULL|NORMAL VENDOR_URL`. Three hook calls in the sandbox,
 * one request to the vendor, two durable commits of the gateway's own statements, and what
 * `serve-by-key.ts` does around a request. Prints its port.
 */
import { newTaskId, systemClock } from '../../src/kernel/index.ts';
import type { PresentedKey } from '../../src/store/ports/index.ts';
import { openParts } from './parts.ts';
import { serveByKey } from './serve-by-key.ts';

const [folder = '', synchronous = '', vendorUrl = ''] = process.argv.slice(2);
const QUOTA = 200;
const LEASE = { leaseOwner: 'least', leaseForMs: 30_000 };
const parts = await openParts(
  folder,
  synchronous === 'NORMAL' ? 'NORMAL' : 'FULL',
  '../../src/plugins/factory/demo.js',
);
const { store, userId, walletId, hook, ask } = parts;

type Submitted = { taskId: string; taskData: { status: string } };

async function submit(request: Request, { id: apiKeyId }: PresentedKey): Promise<Response> {
  const requestBody = (await request.json()) as { model: string; prompt: string };
  const { model, prompt } = requestBody;
  const taskId = newTaskId(systemClock.nowMs());
  const at = systemClock.unix();
  const context = {
    ...{ method: 'POST', path: '/v1/tasks/demo', query: {}, body: { kind: 'json', value: requestBody }, requestBody },
    ...{ requestHeaders: { 'Content-Type': 'application/json', Accept: '*/*' }, files: [], action: '' },
    ...{ publicTaskId: taskId, model, upstreamModel: model, baseUrl: vendorUrl, userSetting: {} },
    ...{ auth: { authHeader: 'vendor-key' }, authHeader: 'vendor-key', apiKey: 'vendor-key' },
  };
  const described = await hook<Parameters<typeof ask>[0]>('buildSubmitRequest', context);
  const facts = await hook<Record<string, string>>('extractUsage', { ...context, usagePurpose: 'facts' });
  const billing = {
    expression: '0.0001 * u("seconds")',
    priceKey: 'demo::demo-video',
    facts,
    groupRatio: 1,
    usd: 0.0004,
  };
  const task = await store.transaction(async (tx) => {
    const inserted = await tx.tasks.insert({
      ...{
        taskId,
        platform: 'demo',
        userId,
        walletId,
        apiKeyId,
        group: 'default',
        channelId: 1,
        action: 'text_to_video',
      },
      ...{ quota: QUOTA, properties: { input: prompt, originModelName: model, upstreamModelName: model } },
      execution: { requestId: taskId, pluginKey: 'demo', pluginVersion: '1.0.0', generation: 1, surface: 'generic' },
      ...{ billing: { ...billing, model, action: 'text_to_video' }, createdAt: at, ...LEASE },
    });
    await tx.tasks.addEvent({ taskId, at, kind: 'created', status: 'NOT_START', detail: `${QUOTA}` });
    await tx.ledger.reserve({ walletId, userId, apiKeyId, taskId, attempt: 1, amount: QUOTA, at });
    return inserted;
  });
  const body = await ask<object>({ ...described, method: 'POST' });
  const response = { statusCode: 200, headers: {}, body };
  const job = await hook<Submitted>('parseSubmitResponse', context, response);
  const lease = { taskId, leaseOwner: LEASE.leaseOwner, leaseSeq: task.leaseSeq };
  await store.transaction(async (tx) => {
    const accepted = { upstreamTaskId: job.taskId, submitTime: at, data: job.taskData, status: 'SUBMITTED' as const };
    if (!(await tx.tasks.advance(lease, accepted, 60_000))) throw new Error('the lease was lost');
    await tx.tasks.addEvent({ taskId, at, kind: 'transition', status: 'SUBMITTED' });
  });
  return Response.json({ id: taskId, status: 'SUBMITTED', model, prompt });
}

await serveByKey({ store, folder, userId, walletId }, submit);
