import { AppError, fileIdTime, newBatchId, newFileId } from '../../kernel/index.ts';
import { chooseCallback } from '../../notifications/index.ts';
import type { BatchFile, BatchOutcome, BatchRecord, TaskRecord } from '../../store/ports/index.ts';
import {
  type Caller,
  type ClientRequest,
  forbidUnsafeRetry,
  IDEMPOTENCY_SECONDS,
  insertRecoveringCommit,
  runIdempotently,
  taskErrors,
  taskObject,
} from '../../tasks/index.ts';
import { surfaceErrors } from '../errors.ts';
import { describeImages } from '../images/describe-images.ts';
import { jsonRequest } from '../json-request.ts';
import type { SurfaceDeps } from '../types.ts';
import { describeVideos } from '../videos/render-video.ts';
import { batchObject, batchOfOutput, fileObject, itemError, itemObject } from './batch-object.ts';
import { type BatchRequest, MAX_BATCH_ITEMS } from './read-batch.ts';
import { createBatchRunner, WINDOW_SECONDS } from './run-batches.ts';

/** Batches of a user that may run at once. */
const MAX_OPEN = 20;
const FILES = { files: 100, bytes: 64 * 1024 * 1024 };
/** How long a file stays: as at OpenAI, at most 30 days, and its client may ask for fewer. */
export const FILE_SECONDS = { least: 3600, most: 30 * 24 * 3600 };
/** Tasks that are read at once: each may have a MiB. */
const TASKS_AT_ONCE = 20;

export type Batches = ReturnType<typeof createBatches>;

type Page = { after?: string; limit: number; order: 'asc' | 'desc' };
/** `seconds`: how long it stays; as long as may be unless given. */
type NewFile = { filename: string; content: string; seconds?: number | undefined };
type NewBatchRequest = { requestId: string; request: ClientRequest; batch: BatchRequest };

/**
 * Many requests that are sent one after the other, each as if it came alone. What became of each is
 * found in the batch, and as a file of JSON lines once it has ended.
 */
export function createBatches(deps: SurfaceDeps, wakeWebhooks: () => void) {
  const { store, clock, node, webhooks } = deps;
  const runner = createBatchRunner(deps, wakeWebhooks);

  /** @throws tasks.batch_not_found, also for another user's */
  async function own(userId: number, batchId: string): Promise<BatchRecord> {
    const batch = isId(batchId) ? await store.batches.byId(batchId) : undefined;
    if (batch?.userId !== userId) throw surfaceErrors.batch_not_found();
    return batch;
  }

  async function describe(list: readonly BatchRecord[]) {
    const counts = await store.batches.counts(list.map(({ batchId }) => batchId));
    return list.flatMap((batch) => {
      const counted = counts.get(batch.batchId);
      return counted ? [batchObject(batch, counted)] : [];
    });
  }

  async function show(batch: BatchRecord) {
    const [described] = await describe([batch]);
    if (!described) throw surfaceErrors.batch_not_found();
    return described;
  }

  async function insert(caller: Caller, { requestId, request, batch }: NewBatchRequest) {
    const { items, ...given } = batch;
    if (!caller.key) throw new Error('A batch came without an API key.');
    const apiKeyId = caller.key.id;
    const callbackUrl = chooseCallback(webhooks, { requested: request.callbackUrl, key: caller.key });
    const batchId = newBatchId(clock.nowMs(), node.random);
    const createdAt = clock.unix();
    const userId = caller.user.id;
    return {
      batchId,
      write: (idempotency: { key: string; requestHash: string } | undefined) =>
        store.transaction(async (tx) => {
          const expiresAt = createdAt + IDEMPOTENCY_SECONDS;
          const taken =
            !idempotency ||
            (await tx.idempotency.take({ ...idempotency, userId, taskId: batchId, expiresAt, at: createdAt }));
          if (!taken) throw taskErrors.idempotency_in_progress();
          const batch = {
            ...{ batchId, userId, apiKeyId, ...given, callbackUrl, requestId, total: items.length, createdAt },
            ...{ expiresAt: createdAt + WINDOW_SECONDS, startedAt: given.allOrNone ? 0 : createdAt },
            status: given.allOrNone ? ('validating' as const) : ('in_progress' as const),
          };
          if (!(await tx.batches.insert(batch, items, MAX_OPEN)))
            throw surfaceErrors.batches_limited({ retryAfterSeconds: 60, shouldRetry: true });
          return true as const;
        }),
    };
  }

  /** The hourly clean-up deletes it later. */
  const isThere = ({ expiresAt }: BatchFile): boolean => expiresAt > clock.unix();

  /** @throws tasks.batch_file_not_found, also for another user's */
  async function ownFile(userId: number, fileId: string): Promise<BatchFile> {
    const file = isId(fileId) ? await store.batches.file(fileId) : undefined;
    if (file?.userId !== userId || !isThere(file)) throw surfaceErrors.batch_file_not_found();
    return file;
  }

  /** The batch whose outcomes such a file lists, once it has ended; undefined: another id. */
  async function ownOutput(userId: number, fileId: string) {
    const named = batchOfOutput(fileId);
    if (!named) return undefined;
    const batch = isId(named.batchId) ? await store.batches.byId(named.batchId) : undefined;
    if (batch?.userId !== userId || batch.endedAt === 0) throw surfaceErrors.batch_file_not_found();
    return { batch, succeeded: named.succeeded };
  }

  return {
    start: runner.start,
    stop: runner.stop,

    /**
     * Once the batch may be stored, no failure advises to order it again.
     * @throws tasks.batches_limited, tasks.idempotency_*, tasks.callback_url_invalid
     */
    create: (caller: Caller, input: NewBatchRequest) =>
      forbidUnsafeRetry(async (state) => {
        const { replayed, batchId } = await runIdempotently<{ replayed: boolean; batchId: string }>(
          deps,
          { caller, request: input.request },
          {
            async first(idempotency) {
              const { batchId, write } = await insert(caller, input);
              const find = async () => (await store.batches.byId(batchId)) && true;
              await insertRecoveringCommit(deps, { id: batchId, insert: () => write(idempotency), find }).catch(
                (error: unknown) => {
                  state.vendorMayHaveJob = error instanceof AppError && error.code === 'store.outcome_unknown';
                  throw error;
                },
              );
              state.vendorMayHaveJob = true;
              return { replayed: false, batchId };
            },
            repeat: async (openedId) => ({ replayed: true, batchId: openedId }),
          },
        );
        if (!replayed) runner.wake();
        return { replayed, batch: await show(await own(caller.user.id, batchId)) };
      }),

    /** A batch with the outcome of each item. @throws tasks.batch_not_found */
    async read(userId: number, batchId: string) {
      const batch = await own(userId, batchId);
      const items = await store.batches.outcomes(batchId, -1, MAX_BATCH_ITEMS);
      return { ...(await show(batch)), items: items.map(itemObject) };
    },

    /** @throws tasks.page_not_found */
    async page(userId: number, { after, limit, order }: Page) {
      const before = after === undefined ? undefined : await own(userId, after).catch(() => undefined);
      if (after !== undefined && !before) throw taskErrors.page_not_found({ param: 'after' });
      const found = await store.batches.ofUser(userId, { after: before?.id, limit: limit + 1, order });
      const data = await describe(found.slice(0, limit));
      return {
        ...{ object: 'list' as const, data, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null },
        has_more: found.length > limit,
      };
    },

    /**
     * Sends nothing more; what a vendor has goes on.
     * @throws tasks.batch_not_found, tasks.batch_ended
     */
    async cancel(userId: number, batchId: string) {
      await own(userId, batchId);
      if (!(await store.batches.requestCancel(batchId, clock.unix()))) throw surfaceErrors.batch_ended();
      runner.wake();
      return show(await own(userId, batchId));
    },

    /** @throws tasks.batch_files_limited */
    async addFile(userId: number, { filename, content, seconds = FILE_SECONDS.most }: NewFile) {
      const createdAt = clock.unix();
      const fileId = newFileId(clock.nowMs(), node.random);
      const bytes = Buffer.byteLength(content);
      const file = { fileId, userId, filename, bytes, content, createdAt, expiresAt: createdAt + seconds };
      if (!(await store.batches.addFile(file, FILES))) throw surfaceErrors.batch_files_limited({ shouldRetry: false });
      return fileObject(await ownFile(userId, fileId));
    },
    /** The files that the user uploaded. @throws tasks.page_not_found */
    async files(userId: number, { after, limit, order, purpose = 'batch' }: Page & { purpose?: string }) {
      const newest = purpose === 'batch' ? (await store.batches.files(userId)).filter(isThere) : [];
      const all = order === 'asc' ? newest.toReversed() : newest;
      const rest = after === undefined ? all : listAfter(all, { after, order });
      if (!rest) throw taskErrors.page_not_found({ param: 'after' });
      const data = rest.slice(0, limit).map(fileObject);
      return {
        ...{ object: 'list' as const, data, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null },
        has_more: rest.length > limit,
      };
    },
    /** @throws tasks.batch_file_not_found */
    async file(userId: number, fileId: string) {
      const output = await ownOutput(userId, fileId);
      if (!output) return fileObject(await ownFile(userId, fileId));
      const { endedAt } = output.batch;
      const size = await countBytes(listOutput(deps, output));
      return {
        ...fileObject({
          ...{ id: 0, fileId, userId, filename: `${fileId}.jsonl`, bytes: size, createdAt: endedAt },
          expiresAt: 0,
        }),
        ...{ expires_at: null, purpose: 'batch_output' as const },
      };
    },
    /** @throws tasks.batch_file_not_found */
    async fileContent(userId: number, fileId: string): Promise<AsyncIterable<string>> {
      const output = await ownOutput(userId, fileId);
      if (output) return listOutput(deps, output);
      await ownFile(userId, fileId);
      const content = await store.batches.fileContent(fileId);
      if (content === undefined) throw surfaceErrors.batch_file_not_found();
      return oneText(content);
    },
    /** @throws tasks.batch_file_not_found, tasks.batch_invalid for a file of results */
    async deleteFile(userId: number, fileId: string) {
      if (await ownOutput(userId, fileId))
        throw surfaceErrors.batch_invalid({ message: OUTPUT_STAYS, param: 'file_id' });
      await ownFile(userId, fileId);
      await store.batches.deleteFile(fileId);
    },
    /** The text of a file that a batch is made of. @throws tasks.batch_file_not_found */
    async inputText(userId: number, fileId: string): Promise<string> {
      await ownFile(userId, fileId);
      return (await store.batches.fileContent(fileId)) ?? '';
    },
    cleanUpStep: {
      step: 'files of batches',
      deleteBatch: (limit: number) => store.batches.deleteExpiredFiles(clock.unix(), limit),
    },
  };
}

const OUTPUT_STAYS =
  'The results of a batch cannot be deleted as a file: delete its tasks by DELETE /v1/tasks/{task_id}.';

/** Valid ids: PostgreSQL accepts no NUL, and other texts need no query. */
const isId = (id: string): boolean => /^[\w-]{1,64}$/.test(id);

/**
 * The files behind `after`; where it was deleted since, those of its time and later ones, or
 * earlier ones. Undefined: it never was the id of a file.
 */
function listAfter<T extends Pick<BatchFile, 'fileId'>>(
  files: readonly T[],
  { after, order }: Pick<Page, 'order'> & { after: string },
): T[] | undefined {
  const at = files.findIndex(({ fileId }) => fileId === after);
  if (at !== -1) return files.slice(at + 1);
  const time = fileIdTime(after);
  if (time === undefined) return undefined;
  const isAfter = (other = ''): boolean => (order === 'asc' ? other >= time : other <= time);
  return files.filter(({ fileId }) => isAfter(fileIdTime(fileId)));
}

async function* oneText(text: string): AsyncGenerator<string> {
  yield text;
}

async function countBytes(lines: AsyncIterable<string>): Promise<number> {
  let bytes = 0;
  for await (const line of lines) bytes += Buffer.byteLength(line);
  return bytes;
}

type Output = { batch: BatchRecord; succeeded: boolean };

/** The items that have a result, or those that have none, as OpenAI's lines. */
async function* listOutput(deps: SurfaceDeps, { batch, succeeded }: Output): AsyncGenerator<string> {
  const { batchId, userId } = batch;
  for (let after = -1; ; after += TASKS_AT_ONCE) {
    const items = await deps.store.batches.outcomes(batchId, after, TASKS_AT_ONCE);
    const wanted = items.filter(({ status }) => (status === 'completed') === succeeded);
    const ids = wanted.flatMap(({ taskId }) => (taskId === null ? [] : [taskId]));
    // An empty status matches none, so all are read.
    const found = await deps.store.tasks.byTaskIds(ids.map((taskId) => ({ taskId, status: '' as const, polls: 0 })));
    const tasks = new Map(found.map((task) => [task.taskId, task]));
    for (const item of wanted) {
      const task = tasks.get(item.taskId ?? '');
      yield `${JSON.stringify(await describeLine(deps, { item, batch, task: task?.userId === userId ? task : undefined }))}\n`;
    }
    if (items.length < TASKS_AT_ONCE) return;
  }
}

type Line = { item: BatchOutcome; batch: BatchRecord; task: TaskRecord | undefined };

async function describeLine(deps: SurfaceDeps, { item, batch, task }: Line) {
  const line = {
    id: `batch_req_${batch.batchId.slice('batch_'.length)}_${item.position}`,
    custom_id: item.customId,
    task_id: item.taskId,
  };
  if (item.status !== 'completed') {
    const failed = { code: 'task_failed', message: task?.failReason || 'The task failed.', param: null };
    return { ...line, response: null, error: itemError(item) ?? failed };
  }
  if (task?.hiddenAt !== 0)
    return {
      ...line,
      response: null,
      error: { code: 'task_not_found', message: 'The task was deleted.', param: null },
    };
  try {
    const body = await describeResult(deps, item.path, task);
    return { ...line, response: { status_code: 200, request_id: task.execution.requestId, body }, error: null };
  } catch (error) {
    deps.logger.warn({ err: error, task_id: task.taskId }, 'a result of a batch could not be described');
    const message = 'The result cannot be described now. Ask for the task.';
    return { ...line, response: null, error: { code: 'result_unavailable', message, param: null } };
  }
}

/** The final answer that the same request gets outside a batch; images as links. */
async function describeResult(deps: SurfaceDeps, path: string, task: TaskRecord) {
  if (path === '/v1/videos') return (await describeVideos(deps, task.userId))(task);
  if (path !== '/v1/images/generations') return taskObject(task);
  return describeImages(deps, {
    ...{ task, format: 'url', operation: 'generate', requestId: task.execution.requestId },
    request: await jsonRequest(path, { model: task.properties.originModelName }),
    signal: new AbortController().signal,
  });
}
