import type { PanelPrincipal } from '../../../auth/index.ts';
import { explainBill, vendorCost } from '../../../billing/index.ts';
import type { Channels } from '../../../channels/index.ts';
import { AppError, type JsonObject } from '../../../kernel/index.ts';
import type { Preview, Results } from '../../../results/index.ts';
import { type ArtifactList, RESULT_KEY } from '../../../results/index.ts';
import type { Surfaces } from '../../../surfaces/index.ts';
import type { QueuePosition, TaskDetail, Tasks } from '../../../tasks/index.ts';
import { type ListedTask, taskState } from '../../../tasks/index.ts';
import { isAdmin } from '../../pipeline/admit-request.ts';

type Task = TaskDetail['task'];

/** The answer for a task that was deleted after it was read. */
const WITHOUT_NAMES = { username: null, keyName: null, channelName: null };

export type TaskReaderDeps = {
  tasks: Tasks;
  results: Results;
  surfaces: Surfaces;
  channels: Pick<Channels, 'find'>;
};

/** Reads tasks: users see their own, administrators all. */
export function createTaskReader({ tasks, results, surfaces, channels }: TaskReaderDeps) {
  /** The user whose tasks the caller may read; null for all. */
  const readableUser = (panel: PanelPrincipal): number | null => (isAdmin(panel) ? null : panel.user.id);

  /** @throws tasks.task_not_found */
  async function readDetail(panel: PanelPrincipal, taskId: string) {
    const { task, events, ledger } = await tasks.detail(taskId, readableUser(panel));
    const [[named], positions] = await Promise.all([tasks.lists.byIds([task.id]), tasks.queue.find([task])]);
    const queue = positions.get(task.taskId);
    const { request } = task.execution;
    const block = await surfaces.retryBlock(task);
    const isOwn = task.userId === panel.user.id;
    return {
      ...describeListedTask({ ...WITHOUT_NAMES, ...named, ...task }, isAdmin(panel)),
      ...(queue && { queue: { ...queue, channels: isAdmin(panel) ? await listAccounts(task) : [] } }),
      // Only the owner sees the request.
      request: (isOwn && request) || null,
      retryable: isOwn && block === undefined,
      retry_block: (isOwn && block) || null,
      /** The task that was run again as this one. */
      repeats: task.execution.repeats ?? null,
      bill: explainBill(task),
      /** What the vendor bills by the channel's cost prices, and what is left of the charge. */
      ...(isAdmin(panel) ? { vendor_cost: vendorCost(task, channels.find(task.channelId)?.settings) ?? null } : {}),
      // Which accounts did not take it is for administrators.
      timeline: events
        .filter(({ kind }) => kind !== 'passed_over' || isAdmin(panel))
        .map((event) => ({
          at: event.at,
          kind: event.kind,
          status: event.status,
          class: event.class,
          http_status: event.httpStatus,
          detail: event.detail,
          detail_sentence: event.detailSentence,
        })),
      ledger: ledger.map((line) => ({
        kind: line.kind,
        attempt: line.attempt,
        amount: line.amount,
        note: line.note,
        note_sentence: line.noteSentence,
        created_at: line.createdAt,
      })),
      artifacts: await listArtifacts(task),
    };
  }

  /** The accounts that may serve a task that waits. */
  async function listAccounts({ platform, group, properties }: Pick<Task, 'platform' | 'group' | 'properties'>) {
    const classes = await tasks.queue.classes();
    const within = classes.find(
      ({ plugin, model, ...each }) =>
        plugin === platform && model === properties.originModelName && each.group === group,
    );
    return (within?.channels ?? []).map(({ id, name }) => ({ id, name }));
  }

  /**
   * If the plugin is gone or cannot list, the list is empty; the page still loads. A result that no
   * plugin listed is shown like one that was.
   */
  async function listArtifacts(task: Task) {
    try {
      return listEach(await results.artifacts(task));
    } catch (error) {
      if (error instanceof AppError) return [];
      throw error;
    }
  }

  return { readableUser, readDetail, listAccounts };
}

/** A task in the audit log: what was asked of which plugin, and whose it is if not the actor's. */
export const describeAudited = (
  { user }: PanelPrincipal,
  { platform, userId, properties: { originModelName: model } }: Pick<Task, 'platform' | 'userId' | 'properties'>,
): JsonObject => ({ plugin_key: platform, model, ...(userId === user.id ? {} : { user_id: userId }) });

/** Describes a result that no plugin listed as if a plugin had. */
function listEach({ artifacts, ...legacy }: ArtifactList): ArtifactList['artifacts'] {
  const { legacy_content_url: url, legacy_content_type: type = 'video', legacy_content_expires_at: at } = legacy;
  if (url === undefined) return artifacts;
  const {
    legacy_content_preview: preview,
    legacy_content_kept: kept,
    legacy_content_bytes: bytes,
    legacy_content_sha256: sha256,
    legacy_content_kept_until: until,
    legacy_content_kept_reason: reason,
    legacy_content_kept_reason_sentence: said,
  } = legacy;
  return [
    {
      key: RESULT_KEY,
      type,
      content_url: url,
      ...(at !== undefined && { expires_at: at }),
      ...(preview && { preview }),
      ...(kept && { kept }),
      ...(bytes !== undefined && { bytes }),
      ...(sha256 !== undefined && { sha256 }),
      ...(until !== undefined && { kept_until: until }),
      ...(reason !== undefined && { kept_reason: reason }),
      ...(said && { kept_reason_sentence: said }),
    },
  ];
}

/** Leaves out what is private: the vendor's answer, the plugin's state, the lease. */
const describeForUser = (task: ListedTask) => ({
  ...taskState(task),
  fail_reason_sentence: task.failReasonSentence,
  input: task.properties.input,
  quota: task.quota,
  /** What was set aside for it at first. */
  reserved: task.billing.outcome?.reserved ?? task.quota,
  submit_time: task.submitTime,
  start_time: task.startTime,
  finish_time: task.finishTime,
  polls: task.polls,
  api_key_id: task.apiKeyId,
  api_key_name: task.keyName,
});

/** Users do not see the vendor's id either. */
const describeForAdmin = (task: ListedTask) => ({
  ...describeForUser(task),
  user_id: task.userId,
  channel_id: task.channelId,
  group: task.group,
  upstream_model: task.properties.upstreamModelName,
  upstream_task_id: task.upstreamTaskId,
  plugin_version: task.execution.pluginVersion,
  request_id: task.execution.requestId,
  poll_failures: task.pollFailures,
  username: task.username,
  channel_name: task.channelName,
});

type Described = ReturnType<typeof describeForUser> & Partial<ReturnType<typeof describeForAdmin>>;

/** A task of a list: `poster` where it has a preview, `queue` while it waits. */
export type DescribedTask = Described & {
  poster?: Preview;
  queue?: QueuePosition & { channels: { id: number; name: string }[] };
};

/** With the names of what it belongs to; null where that is gone. */
export const describeListedTask = (task: ListedTask, forAdmin: boolean): Described =>
  forAdmin ? describeForAdmin(task) : describeForUser(task);
