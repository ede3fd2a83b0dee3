import { isoTime, type JsonObject, newMessageId, QUOTA_PER_USD } from '../../kernel/index.ts';
import {
  type BatchCounts,
  type BatchFile,
  type BatchOutcome,
  type BatchRecord,
  LONGEST_WEBHOOK_TRIES_MS,
  type Repositories,
  type StoredFailure,
} from '../../store/ports/index.ts';
import { canonicalHost } from '../../upstream/index.ts';
import type { SurfaceDeps } from '../types.ts';

/** What became of some items of a batch, as JSON lines under an id of its own. */
const OUTPUT = 'file-out-';
const ERRORS = 'file-err-';
const suffix = (batchId: string): string => batchId.slice('batch_'.length);

/** The batch of an output file; undefined for another id. */
export function batchOfOutput(fileId: string): { batchId: string; succeeded: boolean } | undefined {
  const prefix = [OUTPUT, ERRORS].find((each) => fileId.startsWith(each));
  if (prefix === undefined) return undefined;
  return { batchId: `batch_${fileId.slice(prefix.length)}`, succeeded: prefix === OUTPUT };
}

/** An error as clients read it. */
const shownError = ({ code, message, param }: StoredFailure) => ({
  code: code.replace(/^\w+\./, ''),
  message,
  param: param ?? null,
});

/** A batch in OpenAI's form, without its items. */
export function batchObject(batch: BatchRecord, counts: BatchCounts) {
  const { status, endedAt, error, batchId } = batch;
  const ended = (as: BatchRecord['status']) => (status === as ? endedAt : null);
  const failed = counts.failed + counts.cancelled + counts.expired;
  return {
    id: batchId,
    object: 'batch' as const,
    endpoint: batch.endpoint,
    errors: error && { object: 'list' as const, data: [{ ...shownError(error), line: null }] },
    input_file_id: batch.inputFileId === '' ? null : batch.inputFileId,
    completion_window: '24h' as const,
    status,
    output_file_id: endedAt > 0 && counts.completed > 0 ? OUTPUT + suffix(batchId) : null,
    error_file_id: endedAt > 0 && failed > 0 ? ERRORS + suffix(batchId) : null,
    created_at: batch.createdAt,
    in_progress_at: batch.startedAt || null,
    expires_at: batch.expiresAt,
    finalizing_at: null,
    completed_at: ended('completed'),
    failed_at: ended('failed'),
    expired_at: ended('expired'),
    cancelling_at: batch.cancellingAt || null,
    cancelled_at: ended('cancelled'),
    request_counts: { total: batch.total, completed: counts.completed, failed },
    metadata: batch.metadata,
    all_or_none: batch.allOrNone,
  };
}

const WORDS = {
  cancelled: { code: 'batch_cancelled', message: 'The batch ended before this request was sent.', param: null },
  expired: {
    code: 'batch_expired',
    message: 'This request could not be sent within the batch’s 24 hours.',
    param: null,
  },
} as const;

/** Why an item has no result; null where it has, or may have. */
export function itemError({ status, error }: Pick<BatchOutcome, 'status' | 'error'>) {
  if (error) return shownError(error);
  if (status === 'cancelled' || status === 'expired') return WORDS[status];
  return null;
}

/** `status`: to the client, an item that is being sent is not sent yet. */
export function itemObject(item: BatchOutcome) {
  return {
    index: item.position,
    custom_id: item.customId,
    url: item.path,
    status: item.status === 'sending' ? ('pending' as const) : item.status,
    task_id: item.taskId,
    usd: item.quota / QUOTA_PER_USD,
    error: itemError(item),
  };
}

export const fileObject = ({ fileId, bytes, filename, createdAt, expiresAt }: BatchFile) => ({
  id: fileId,
  object: 'file' as const,
  bytes,
  created_at: createdAt,
  expires_at: expiresAt,
  filename,
  purpose: 'batch' as const,
  status: 'processed' as const,
});

/** Writes the webhook of a batch that has ended, in the transaction that ends it. */
export async function writeBatchNotice(
  { clock, node }: Pick<SurfaceDeps, 'clock' | 'node'>,
  tx: Pick<Repositories, 'batches' | 'webhooks'>,
  batchId: string,
): Promise<void> {
  const batch = await tx.batches.byId(batchId);
  const counts = (await tx.batches.counts([batchId])).get(batchId);
  if (!batch || !counts || batch.callbackUrl === null) return;
  const { callbackUrl: url, userId, apiKeyId } = batch;
  const event = 'batch.finished';
  const data: JsonObject = batchObject(batch, counts);
  await tx.webhooks.putGatewayNotice(
    {
      ...{ eventId: newMessageId(node.random), taskId: batchId, userId, apiKeyId, event, url },
      host: canonicalHost(new URL(url)),
      payload: { type: event, timestamp: isoTime(clock.nowMs()), data },
      createdAt: clock.unix(),
    },
    LONGEST_WEBHOOK_TRIES_MS,
  );
}
