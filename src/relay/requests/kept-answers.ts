import { isUtf8 } from 'node:buffer';
import { storeBytes } from '../../files/index.ts';
import {
  AppError,
  createJsonScanner,
  deadlineSignal,
  isObject,
  type Json,
  parseJson,
  sliceChunks,
} from '../../kernel/index.ts';
import { ANSWER_KIND, type NewKeptFiles, type RelayRecord } from '../../store/ports/index.ts';
import { type Caller, IDEMPOTENCY_SECONDS, mayStore, type TaskDeps, UNSTORED_SECONDS } from '../../tasks/index.ts';
import { createBase64Cutter } from '../../vendors/index.ts';
import { streamThrough } from '../answers/stream-through.ts';
import { mayBeFollowed } from '../endpoints.ts';
import type { RelayAnswer, RelayedRequest, RelayIntent } from '../types.ts';

/**
 * Requests whose vendor keeps nothing, and that take longer than proxies and people wait: their
 * answer is kept for a while, for a client that follows the request as a task, or that asks again
 * with the same Idempotency-Key.
 */

/** Nobody waits for the answer of a request that is followed; the client of any other does. */
const STORE_MS = { followed: 120_000, awaited: 15_000 };
/** Limits of an answer without its media. */
const BOUNDS = { maxBytes: 16 * 1024 * 1024, maxValues: 100_000, maxDepth: 64 };

/**
 * Whether the client of the request may ask for its answer again. An older node would count kept
 * answers as results that their user keeps.
 */
export const mayAskAgain = (
  { features }: Pick<TaskDeps['node'], 'features'>,
  { idempotencyKey }: RelayedRequest['client'],
  intent: RelayIntent,
): boolean =>
  features.has('relay_tasks@1') &&
  mayBeFollowed(intent.kind) &&
  !intent.stream &&
  (intent.isFollowed || typeof idempotencyKey === 'string');

type Kept = { caller: Caller; request: RelayedRequest; intent: RelayIntent; relay: RelayRecord };

/** Stores the answer; what is to be written with the bill. Undefined: it could not be stored. */
export async function storeAnswer(
  deps: TaskDeps,
  { caller, request, intent, relay }: Kept,
  body: Uint8Array,
): Promise<NewKeptFiles | undefined> {
  const deadline = deadlineSignal(deps.clock, STORE_MS[intent.isFollowed ? 'followed' : 'awaited']);
  const lose = (reason: unknown) => {
    deps.logger.warn({ relay_id: relay.relayId, reason }, 'the answer of a relayed request could not be kept');
    return undefined;
  };
  try {
    // The text becomes a part of another JSON text.
    const json = withoutMark(body);
    if (!(await isJsonText(json))) return lose('it is not JSON, or has too many values');
    const stored = await storeBytes(deps, json, deadline.signal);
    if (!stored.ok) return lose(stored.error);
    const now = deps.clock.unix();
    // As long as an Idempotency-Key stands for the request.
    const seconds = mayStore({ request: request.client, caller }) ? IDEMPOTENCY_SECONDS : UNSTORED_SECONDS;
    const { sha256, bytes } = stored.value;
    return {
      ...{ taskId: relay.relayId, userId: relay.userId, kind: ANSWER_KIND, keptAt: now, keptUntil: now + seconds },
      files: [{ artifactKey: ANSWER_KIND, sha256, bytes }],
    };
  } catch (error) {
    return lose(error instanceof Error ? error.message : 'unknown');
  } finally {
    deadline.end();
  }
}

const MARK = [0xef, 0xbb, 0xbf];
const withoutMark = (body: Uint8Array): Uint8Array =>
  MARK.every((byte, at) => body[at] === byte) ? body.subarray(MARK.length) : body;

/** Media are cut out first, and what is left is counted: parsing must not block the event loop. */
async function isJsonText(body: Uint8Array): Promise<boolean> {
  const cutter = createBase64Cutter();
  for await (const slice of sliceChunks([body])) if (cutter.take(slice) > BOUNDS.maxBytes) return false;
  const text = cutter.end();
  const scanner = createJsonScanner(BOUNDS);
  for await (const slice of sliceChunks([text])) if (scanner.scan(slice)) return false;
  return isUtf8(text) && parseJson(new TextDecoder().decode(text)) !== undefined;
}

/** The kept answer; undefined: none is kept now. @throws tasks.* while its place fails */
export async function openKeptAnswer(deps: TaskDeps, relayId: string): Promise<ReadableStream<Uint8Array> | undefined> {
  const kept = await deps.store.results.find(relayId, ANSWER_KIND);
  if (!kept?.sha256 || kept.keptUntil <= deps.clock.unix()) return undefined;
  const content = await deps.storage.files.open(kept.sha256);
  return content instanceof Blob ? content.stream() : content;
}

/** `left`: aborted when the client leaves. `before`, `after`: what stands around the answer. */
type Sending = { userId: number; left: AbortSignal | undefined; before?: string; after?: string };

/**
 * Sends a kept answer piece by piece, and holds a slot of its user's downloads until then.
 * @throws tasks.artifact_access_limited
 */
export function sendKeptAnswer(
  { vendors: { downloads } }: TaskDeps,
  kept: ReadableStream<Uint8Array>,
  { userId, left, before = '', after = '' }: Sending,
): ReadableStream<Uint8Array> {
  const text = (part: string) => new TextEncoder().encode(part);
  let head = text(before);
  let release: () => void;
  try {
    release = downloads.acquire(userId, 'download');
  } catch (error) {
    // A bucket would hold its connection open.
    void kept.cancel().catch(() => {});
    throw error;
  }
  return streamThrough(kept, {
    signal: left,
    onStop: release,
    transfer: {
      async push(chunk) {
        const passed = head.length > 0 ? Buffer.concat([head, chunk]) : chunk;
        head = text('');
        return passed;
      },
      end: async () => text(after),
    },
  });
}

/** Keeps why a request failed, for a client that follows it. */
export const storeFailure = async (
  deps: TaskDeps,
  failed: Kept,
  outcome: unknown,
): Promise<NewKeptFiles | undefined> =>
  failed.intent.isFollowed ? storeAnswer(deps, failed, describeFailure(outcome)) : undefined;

/** Keeps a failure as the answer that a client which follows its request gets. */
function describeFailure(outcome: unknown): Uint8Array {
  const said = outcome instanceof AppError ? outcome.message : findMessage((outcome as Partial<RelayAnswer>).body);
  return new TextEncoder().encode(JSON.stringify({ error: { message: said ?? 'The vendor rejected the request.' } }));
}

/** The message of an error in OpenAI's form, or in one that is close to it. */
export function findMessage(body: RelayAnswer['body'] | undefined): string | undefined {
  if (!(body instanceof Uint8Array)) return undefined;
  const parsed = parseJson(new TextDecoder().decode(body));
  if (!isObject(parsed)) return undefined;
  const { error = null, message = null } = parsed as Record<string, Json>;
  const said = isObject(error) ? error.message : (error ?? message);
  return typeof said === 'string' && said !== '' ? said : undefined;
}
