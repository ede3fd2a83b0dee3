/**
 * The least that relays chats with all parts that the gateway must have: `bun
 * bench/least/whole-chats.ts FOLDER FULL|NORMAL VENDOR_URL`. A durable commit of the gateway's own
 * statements reserves before the vendor is asked, another bills, and the vendor's bytes pass
 * unread, whole or as a stream. Prints its port.
 */
import { newTaskId, systemClock } from '../../src/kernel/index.ts';
import { openParts } from './parts.ts';

const [folder = '', synchronous = '', vendorUrl = ''] = process.argv.slice(2);
const RESERVED = 200;
const PAID = 100;
const NODE = 'least';
const { store, userId, walletId, send } = await openParts(
  folder,
  synchronous === 'NORMAL' ? 'NORMAL' : 'FULL',
  '../../src/plugins/factory/demo.js',
);

type Relay = { relayId: string; model: string };

async function open({ relayId, model }: Relay): Promise<void> {
  const at = systemClock.unix();
  await store.transaction(async (tx) => {
    await tx.relays.open({
      ...{ relayId, kind: 'chat', userId, walletId, apiKeyId: null, group: 'default', channelId: 1, model },
      ...{ quota: RESERVED, billing: toBilling(model, {}), requestId: relayId, leaseOwner: NODE, leaseForMs: 30_000 },
      ...{ createdAt: at, credentialId: null },
    });
    await tx.ledger.reserve({ walletId, userId, apiKeyId: null, taskId: relayId, attempt: 1, amount: RESERVED, at });
  });
}

async function bill({ relayId, model }: Relay): Promise<void> {
  const at = systemClock.unix();
  await store.transaction(async (tx) => {
    const ending = { quota: PAID, billing: toBilling(model, { output_tokens: PAID }), httpStatus: 200, finishedAt: at };
    const claim = { relayId, by: { owner: NODE }, reserved: RESERVED };
    if (!(await tx.relays.end(claim, { ...ending, status: 'BILLED' }))) throw new Error('the request has ended');
    await tx.ledger.settleAll({
      lines: [{ walletId, apiKeyId: null, taskId: relayId, kind: 'settle', attempt: 1, amount: RESERVED - PAID, at }],
      usage: [{ walletId, apiKeyId: null, channelId: 1, quota: PAID }],
    });
  });
}

const toBilling = (model: string, facts: Record<string, number>) => ({
  ...{ expression: '0.000001 * u("output_tokens")', priceKey: `*::${model}`, model, facts, groupRatio: 1 },
  ...{ action: 'chat', usd: 0.0001 },
});

async function relay(request: Request): Promise<Response> {
  const body = (await request.json()) as { model: string; stream?: boolean };
  const relayed = { relayId: newTaskId(systemClock.nowMs()), model: body.model };
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

const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: relay });
process.stdout.write(`${server.port}\n`);
