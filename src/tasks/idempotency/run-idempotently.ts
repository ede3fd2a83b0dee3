import { createHash } from 'node:crypto';
import type { ExtractedFile, ExtractedFiles } from '../../files/index.ts';
import { AppError, canonicalJson, createSemaphore, isIdempotencyKey, nextTurn, sha256Hex } from '../../kernel/index.ts';
import { fileToken } from '../../vendors/index.ts';
import { taskErrors } from '../errors.ts';
import type { RepeatLimit } from '../task-node.ts';
import type { BodyDigests, Caller, ClientRequest, Idempotency, TaskDeps } from '../types.ts';

/** A repeatable operation. */
export type IdempotentOperation<T> = {
  /**
   * Does the work. It passes the key to the transaction that inserts the row, where one of several
   * concurrent requests takes it.
   */
  first: (idempotency: Idempotency | undefined) => Promise<T>;
  /**
   * Waits for the outcome of the first request, which inserted the row `openedId`. Undefined: the
   * first request failed and released the key, so this repeat becomes the first.
   */
  repeat: (openedId: string) => Promise<T | undefined>;
};

/**
 * Runs every operation that accepts an Idempotency-Key. Without a key it only calls `first`. Among
 * one user's requests with the same key within 24 hours, the first runs `first` and all others run
 * `repeat`. The key is taken, for those 24 hours, in `state/open-tasks.ts`.
 * @throws tasks.invalid_idempotency_key, tasks.idempotency_key_reused,
 * tasks.idempotency_in_progress, and what `first` and `repeat` throw
 */
export async function runIdempotently<T>(
  deps: Pick<TaskDeps, 'store' | 'clock'>,
  { caller, request }: { caller: Caller; request: ClientRequest },
  { first, repeat }: IdempotentOperation<T>,
): Promise<T> {
  const idempotency = readIdempotency(request);
  if (!idempotency) return first(undefined);
  const { key, requestHash, formerHash } = idempotency;
  const find = () => deps.store.idempotency.find(caller.user.id, key, deps.clock.unix());
  for (let last = ''; ; ) {
    let earlier = await find();
    if (!earlier) {
      try {
        return await first({ key, requestHash });
      } catch (error) {
        earlier = isKeyTaken(error) ? await find() : undefined;
        if (!earlier) throw error;
      }
    }
    if (earlier.requestHash !== (isFormer(earlier.requestHash) ? formerHash : requestHash)) {
      throw taskErrors.idempotency_key_reused({ shouldRetry: false });
    }
    if (earlier.taskId === last) throw new Error(`The key of ${last} was said to be released, and is not.`);
    last = earlier.taskId;
    const outcome = await repeat(last);
    if (outcome !== undefined) return outcome;
  }
}

/** The request's Idempotency-Key, if it has one. @throws tasks.invalid_idempotency_key */
function readIdempotency(request: ClientRequest): (Idempotency & { formerHash: string }) | undefined {
  const key = request.idempotencyKey ?? undefined;
  if (key === undefined) return undefined;
  if (!isIdempotencyKey(key)) throw taskErrors.invalid_idempotency_key();
  if (!request.digests) throw new Error('A request with an Idempotency-Key has no digests.');
  return { key, ...hashRequest(request, request.digests) };
}

const VERSION = 'v2.';
const isFormer = (hash: string): boolean => !hash.startsWith(VERSION);

/**
 * Two requests are the same when method, address, kind of content and what the body means are
 * equal: SDKs send a form with a new boundary at each try. `formerHash` compares the raw bytes of
 * the body, as earlier releases did; rows of theirs live for a day after an upgrade.
 */
function hashRequest({ method, path, query, body }: ClientRequest, { raw, meaning }: BodyDigests) {
  const address = [method, path, Object.entries(query).sort(([a], [b]) => (a < b ? -1 : 1))];
  const digest = sha256Hex(JSON.stringify([...address, body.kind, meaning]));
  return {
    requestHash: VERSION + Buffer.from(digest, 'hex').toString('base64url'),
    formerHash: sha256Hex(JSON.stringify([method, path, query, raw])),
  };
}

const isKeyTaken = (error: unknown): boolean => error instanceof AppError && error.code === KEY_TAKEN;
const KEY_TAKEN = taskErrors.idempotency_in_progress().code;

/** Repeats that may wait at once on this node. A well-behaved client has one. */
const MAX_WAITING = { node: 256, user: 32 };
const RETRY_AFTER_SECONDS = 5;

export function createRepeatLimit(): RepeatLimit {
  const limit = createSemaphore();
  return {
    acquire(userId) {
      const slots = limit.tryAcquire([
        { name: 'node', max: MAX_WAITING.node },
        { name: `user ${userId}`, max: MAX_WAITING.user },
      ]);
      if (slots.full) throw stillInProgress();
      return slots.release;
    },
  };
}

export const stillInProgress = () => taskErrors.idempotency_in_progress({ retryAfterSeconds: RETRY_AFTER_SECONDS });

/** From this size on, other requests get a turn between the parsing and the digest. */
const LONG_TEXT = 64 * 1024;

/**
 * SHA-256 in hex of what valid JSON means: `canonicalJson`. An extracted file counts by the SHA-256
 * of its Base64 as sent.
 */
export async function digestJson(text: string, extracted?: ExtractedFiles): Promise<string> {
  if (text.length > LONG_TEXT) await nextTurn();
  if (!extracted) return sha256Hex(canonicalJson(text));
  const { prefix, files } = extracted;
  const digests = new Map<string, string>();
  for (const [index, file] of files.entries()) digests.set(fileToken(prefix, index), await digestFile(file));
  const digitsLength = fileToken(prefix, 0).length - prefix.length;
  const describe = (literal: string): string => {
    const [before = '', ...others] = literal.split(prefix);
    if (others.length === 0) return literal;
    const described = others.map(
      (rest) => `\n${digests.get(prefix + rest.slice(0, digitsLength))}\n${rest.slice(digitsLength)}`,
    );
    // No literal contains a line end, so no text can pass for a file.
    return before + described.join('');
  };
  return sha256Hex(canonicalJson(text, describe));
}

async function digestFile(file: ExtractedFile): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of file.stream()) hash.update(chunk);
  return hash.digest('hex');
}
