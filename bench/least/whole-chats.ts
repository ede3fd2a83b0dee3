/**
 * The least that relays chats with all parts that the gateway must have: `bun
 * bench/least/whole-chats.ts FOLDER FULL|NORMAL VENDOR_URL`. A durable commit of the gateway's own
 * statements reserves before the vendor is asked, another bills, and the vendor's bytes pass
 * unread, whole or as a stream; `serve-by-key.ts` does what stands around a request. Prints its
 * port.
 */
import { newTaskId, systemClock } from '../../src/kernel/index.ts';
import type { PresentedKey } from '../../src/store/ports/index.ts';
import { openParts } from './parts.ts';
import { serveByKey } from './serve-by-key.ts';

const [folder = '', synchronous = '', vendorUrl = ''] = process.argv.slice(2);
const RESERVED = 200;
const PAID = 100;
const NODE = 'least';
const { store, userId, walletId, send } = await openParts(
  folder,
  synchronous === 'NORMAL' ? 'NORMAL' : 'FULL',
  '../../src/plugins/factory/demo.js',
);

type Relay = { relayId: string; model: string; apiKeyId: number };

async function open({ relayId, model, apiKeyId }: Relay): Promise<void> {
  const at = systemClock.unix();
  await store.transaction(async (tx) => {
    await tx.relays.open({
      ...{ relayId, kind: 'chat', userId, walletId, apiKeyId, group: 'default', channelId: 1, model },
      ...{ quota: RESERVED, billing: toBilling(model, {}), requestId: relayId, leaseOwner: NODE, leaseForMs: 30_000 },
      ...{ createdAt: at, credentialId: null },
    });
    await tx.ledger.reserve({ walletId, userId, apiKeyId, taskId: relayId, attempt: 1, amount: RESERVED, at });
  });
}

async function bill({ relayId, model, apiKeyId }: Relay): Promise<void> {
  const at = systemClock.unix();
  await store.transaction(async (tx) => {
    const ending = { quota: PAID, billing: toBilling(model, { output_tokens: PAID }), httpStatus: 200, finishedAt: at };
    const claim = { relayId, by: { owner: NODE }, reserved: RESERVED };
    if (!(await tx.relays.end(claim, { ...ending, status: 'BILLED' }))) throw new Error('the request has ended');
    await tx.ledger.settleAll({
      lines: [{ walletId, apiKeyId, taskId: relayId, kind: 'settle', attempt: 1, amount: RESERVED - PAID, at }],
      usage: [{ walletId, apiKeyId, channelId: 1, quota: PAID }],
    });
  });
}

const toBilling = (model: string, facts: Record<string, number>) => ({
  ...{ expression: '0.000001 * u("output_tokens")', priceKey: `*::${model}`, model, facts, groupRatio: 1 },
  ...{ action: 'chat', usd: 0.0001 },
});

async function relay(request: Request, { id: apiKeyId }: PresentedKey): Promise<Response> {
  const body = (await request.json()) as { model: string; stream?: boolean };
  const relayed = { relayId: newTaskId(systemClock.nowMs()), model: body.model, apiKeyId };
  await open(relayed);
  const answer = await send({ url: `${vendorUrl}/v1/chat/completions`, method: 'POST', headers: {}, body });
  if (!body.stream) {
    const text = await answer.text();
    if (!text.ok) throw new Error(text.error.message);
    await bill(relayed);
    return new Response(text.value, { headers: { 'content-type': 'application/json' } });
  }
  const stream = answer.stream(() => void bill(relayed));
  return new Response(stream, { headers: { 'content-type': 'text/event-stream' } });
}

await serveByKey({ store, folder, userId, walletId }, relay);
