import { isObject, type Json, sha256Hex } from '../../src/kernel/index.ts';
import type { RelayAnswer } from '../../src/relay/index.ts';
import type { ClientRequest } from '../../src/tasks/index.ts';
import { type Attempt, askRepeatedly, findRunning, type Refusal, readCode, readError, waitFor } from './clients.ts';
import type { Cluster, Running } from './cluster.ts';
import type { PlannedRelay } from './plan-relays.ts';
import type { World } from './world.ts';

/**
 * What a client got. `replayed`: of an earlier request with its Idempotency-Key. `isWhole`: it came
 * to its end.
 */
type Answered = { status: number; replayed: boolean; text: string; isWhole: boolean };
export type RelayAttempt = Attempt<Answered>;
/** What a client saw of a request that it follows. `images`: how many its result has. */
type RelayLook = { atMs: number; status: string; images: number | undefined };
export type PlacedRelay = PlannedRelay & {
  attempts: RelayAttempt[];
  /** The task that it follows. */
  taskId: string | undefined;
  looks: RelayLook[];
};

/** The id that the gateway knows an attempt by. */
export const nameAttempt = ({ name }: Pick<PlannedRelay, 'name'>, attempt: number): string =>
  `request of ${name}, ${attempt}`;

/** What no repetition changes. */
const INVALID = 400;
/** Looks of a client who follows its request: more than faults can last. */
const MOST_LOOKS = 60;

/** Asks for an answer as a careful client does, and follows a request that is a task. */
export async function runRelayClient(
  { world, cluster }: { world: World; cluster: Cluster },
  relay: PlacedRelay,
): Promise<void> {
  const random = world.random.fork();

  const answer = await askRepeatedly({ world, cluster, random }, relay, (running, signal) =>
    ask(running, { relay, requestId: nameAttempt(relay, relay.attempts.length - 1), signal }).catch(readError),
  );
  if (answer?.status !== 202) return;
  relay.taskId = (JSON.parse(answer.text) as { id: string }).id;
  while (relay.looks.length < MOST_LOOKS) {
    await waitFor(world, random.between(1000, 40_000));
    const { gateway, life } = await findRunning(world, cluster);
    const seen = await Promise.race([
      readTask(gateway, { relay, id: relay.taskId }).catch((error) => ({ status: readCode(error), images: undefined })),
      life.died.then(() => ({ status: 'cut', images: undefined })),
    ]);
    relay.looks.push({ atMs: world.nowMs(), ...seen });
    if (seen.status === 'FAILURE' || seen.images !== undefined) return;
  }
}

type Asking = { relay: PlannedRelay; requestId: string; signal: AbortSignal };

async function ask(
  { gateway }: Running,
  { relay, requestId, signal }: Asking,
): Promise<{ outcome: Answered | Refusal; isFinal: boolean }> {
  const { keyHash, model, way } = relay;
  const kind = model === 'draw' ? 'image' : 'chat';
  const caller = await gateway.authenticate(keyHash);
  gateway.relay.assertTakes(caller, kind, model);
  const follow = { isPreferred: way === 'followed', goesOn: () => {} };
  const answer = await gateway.relay.create(caller, {
    ...{ kind, requestId, client: readRequest(relay, signal), headers: {} },
    ...(kind === 'image' ? { follow } : {}),
  });
  const { status, replayed, headers } = answer;
  if (status >= 400) {
    const advice = headers['x-should-retry'] === 'false' ? false : status === 429 ? true : undefined;
    return { outcome: { code: `vendor_${status}`, shouldRetry: advice }, isFinal: status === INVALID };
  }
  return { outcome: { status, replayed, ...(await readBody(answer)) }, isFinal: true };
}

async function readBody({ body }: RelayAnswer): Promise<{ text: string; isWhole: boolean }> {
  if (!(body instanceof ReadableStream)) return { text: new TextDecoder().decode(body ?? undefined), isWhole: true };
  const reader = body.getReader();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return { text, isWhole: true };
      text += new TextDecoder().decode(value);
    }
  } catch {
    return { text, isWhole: false };
  }
}

async function readTask(
  gateway: Running['gateway'],
  { relay, id }: { relay: PlannedRelay; id: string },
): Promise<Omit<RelayLook, 'atMs'>> {
  const caller = await gateway.authenticate(relay.keyHash);
  const left = new AbortController().signal;
  const { text } = await readBody(await gateway.relay.tasks.read({ caller, id, waitMs: 0, left }));
  const { status, result } = JSON.parse(text) as { status: string; result?: Json };
  const data = isObject(result ?? null) ? (result as { data?: unknown[] }).data : undefined;
  return { status, images: data?.length };
}

const PATHS = { chat: '/v1/chat/completions', draw: '/v1/images/generations' } as const;

function readRequest(relay: PlannedRelay, signal: AbortSignal): ClientRequest {
  const { name, model, way, maxTokens, images, idempotencyKey } = relay;
  const value: Json =
    model === 'draw'
      ? { model, prompt: name, n: images }
      : {
          ...{ model, messages: [{ role: 'user', content: name }] },
          ...(way === 'stream' ? { stream: true } : {}),
          ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
        };
  const digest = sha256Hex(JSON.stringify(value));
  return {
    ...{ method: 'POST', path: PATHS[model === 'draw' ? 'draw' : 'chat'], params: {}, query: {} },
    ...{ contentType: 'application/json', accept: '*/*' },
    body: { kind: 'json', value },
    digests: { raw: digest, meaning: digest },
    ...{ idempotencyKey, callbackUrl: null, keepResult: null, allowFallback: null, signal },
    release: async () => {},
  };
}
