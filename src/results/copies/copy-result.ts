import {
  type Clock,
  err,
  ok,
  type Result,
  type Sentence,
  SentenceError,
  sentence,
  toSentence,
} from '../../kernel/index.ts';
import type { CopiedFile, FileFault, KeptResultRecord, TaskRecord } from '../../store/ports/index.ts';
import { openArtifact } from '../artifacts/open-artifact.ts';
import { listTaskArtifacts } from '../artifacts/read-artifacts.ts';
import type { Content, CopyFailure, ResultDeps } from '../types.ts';
import { FULL_PAUSE_MS, lost, pauseAfter, toCopyFailure, toFailure } from './retry-copy.ts';

/** A copy that takes longer than this must have come at this pace, on average. */
const PACE_AFTER_MS = 120_000;
const MIN_BYTES_A_SECOND = 16 * 1024;
const tooSlow = new SentenceError(sentence('results.slow'));

/** The artifacts of a task as pending results. */
export async function listResults(
  deps: ResultDeps,
  result: KeptResultRecord,
): Promise<Result<Parameters<ResultDeps['store']['results']['list']>[1], CopyFailure>> {
  const task = await deps.store.tasks.byTaskId(result.taskId);
  if (!task) return err(lost(sentence('results.task_gone')));
  try {
    const { artifacts, legacy } = await listTaskArtifacts(deps, task);
    const { taskId, userId, createdAt } = result;
    return ok(
      [...artifacts, ...(legacy ? [legacy] : [])].map(({ key, type }) => ({
        taskId,
        userId,
        createdAt,
        artifactKey: key,
        kind: type,
      })),
    );
  } catch (error) {
    return err(toFailure(error, result));
  }
}

/**
 * Copies one artifact from its vendor into the result storage, by the same rules as a
 * download. Rejects when the database fails or `signal` is aborted.
 */
export async function copyResult(
  deps: ResultDeps,
  result: KeptResultRecord,
  signal: AbortSignal,
): Promise<Result<CopiedFile, CopyFailure>> {
  const { store, clock, storage } = deps;
  const [task, owner] = await Promise.all([store.tasks.byTaskId(result.taskId), store.users.byId(result.userId)]);
  if (task?.hiddenAt !== 0 || !owner) return err(lost(sentence('results.task_deleted')));
  const settings = storage.settings();
  const quotaBytes = settings.storageQuotaFor(owner.group);
  const room = await findRoom(deps, { userId: owner.id, quota: quotaBytes });
  if (room <= 0) return err({ reason: sentence('results.storage_full'), inMs: FULL_PAUSE_MS });
  let content: Content;
  try {
    content = await openForCopy(deps, { task, key: result.artifactKey, signal });
  } catch (error) {
    signal.throwIfAborted();
    return err(toFailure(error, result));
  }
  const announced = Number(content.headers['content-length'] ?? 0);
  const maxBytes = Math.min(storage.maxFileBytes, room);
  const again = (reason?: Sentence) =>
    err<CopyFailure>({ ...(reason && { reason }), inMs: pauseAfter(result.attempts) });
  try {
    // Nobody asked for a part, and 304 and 416 have none: it would be kept as all of the result.
    if (content.status !== 200) return again(sentence('results.partial'));
    const stored =
      announced > maxBytes
        ? err<FileFault>({ kind: 'too_large', ...sentence('place.bytes', { max: maxBytes }) })
        : await storage.files.put(requirePace(readChunks(content.body), clock), { maxBytes, signal });
    if (stored.ok) {
      const { sha256, bytes } = stored.value;
      // A sweep may have deleted an equal file between the copy and this announcement.
      const isThere = (await store.results.expectFile(stored.value)) && (await storage.files.size(sha256)) === bytes;
      if (!isThere) return again();
      const days = settings.daysFor(owner.group);
      const keptAt = clock.unix();
      const mimeType = content.headers['content-type'] ?? '';
      const keptUntil = days === 0 ? 0 : keptAt + days * 86_400;
      return ok({ ...stored.value, mimeType, keptAt, keptUntil, quotaBytes });
    }
    return err(toCopyFailure(stored.error, { isQuota: maxBytes < storage.maxFileBytes, attempts: result.attempts }));
  } catch (error) {
    signal.throwIfAborted();
    if (error === tooSlow) return again(toSentence(tooSlow));
    deps.logger.debug({ err: error, task_id: result.taskId }, 'a result broke off while it was copied');
    return again(sentence('results.broke_off'));
  } finally {
    if (content.body instanceof ReadableStream && !content.body.locked) await content.body.cancel();
  }
}

/** Bytes that the user may still keep. */
async function findRoom(
  { store }: Pick<ResultDeps, 'store'>,
  { userId, quota }: { userId: number; quota: number | undefined },
): Promise<number> {
  if (quota === undefined) return Number.POSITIVE_INFINITY;
  return quota - (await store.results.usage(userId)).bytes;
}

/** @throws tasks.artifact_* */
async function openForCopy(
  deps: ResultDeps,
  { task, key, signal }: { task: TaskRecord; key: string; signal: AbortSignal },
): Promise<Content> {
  const client = { method: 'GET' as const, headers: {}, signal, requestId: 'SYSTEM' };
  return openArtifact(deps, { task, choice: { key }, client });
}

async function* readChunks(body: Content['body']): AsyncGenerator<Uint8Array> {
  if (body instanceof ReadableStream) yield* body;
  else if (body instanceof Blob) yield await body.bytes();
  else if (body) yield body;
}

/**
 * Rejects when a vendor sends less than a copy may take: otherwise a few vendors that send a byte
 * now and then would hold all copies of a node.
 */
async function* requirePace(source: AsyncIterable<Uint8Array>, clock: Clock): AsyncGenerator<Uint8Array> {
  const startedMs = clock.monotonicMs();
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.byteLength;
    const tookMs = clock.monotonicMs() - startedMs;
    if (tookMs > PACE_AFTER_MS && bytes < (tookMs / 1000) * MIN_BYTES_A_SECOND) throw tooSlow;
    yield chunk;
  }
}
