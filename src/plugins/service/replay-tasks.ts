import { err, type Json, ok, type Result, type Sentence, sentence, toSentence } from '../../kernel/index.ts';
import type { ChannelRecord, TaskRecord, TaskStatus } from '../../store/ports/index.ts';
import { parseBatchResult, parseTaskResult } from '../hooks/parse-answers.ts';
import type { ParsedTask } from '../hooks/read-task-result.ts';
import { listArtifacts } from '../hooks/serve-artifacts.ts';
import type { HookFailure, LoadedPlugin } from '../types.ts';
import { ADMISSION_MS } from './dry-run.ts';

/** The result of parsing a stored answer. */
export type ReplayVerdict =
  | { status: ParsedTask['status']; progress: string | null; reason: string }
  | { error: Sentence };

export type ReplayedTask = {
  taskId: string;
  storedStatus: TaskStatus;
  /** By the version that reads the task now; `null` if none does. */
  before: ReplayVerdict | null;
  after: ReplayVerdict;
  /**
   * The new version gives another status than the one that reads the task now, or than the stored
   * one if none does.
   */
  changed: boolean;
  /** Keys of a finished task's artifacts that only the version that reads it now lists. */
  lostArtifacts: string[];
};

const RESPONSE = { status: 200, headers: {} };

type Reader = {
  parse(task: TaskRecord): Promise<ReplayVerdict>;
  /** The keys of a finished task's artifacts; none where the plugin fails. */
  listKeys(task: TaskRecord): Promise<string[]>;
};

/**
 * Parses the vendor's last answers for stored tasks with the version that reads each task now and
 * with a candidate, lists the artifacts of the finished ones, and compares the results. Sends no
 * request and writes nothing. Calls are made one at a time. After a call that had to be killed,
 * that version is called for no further task.
 */
export async function replayTasks(
  tasks: readonly TaskRecord[],
  channels: readonly ChannelRecord[],
  {
    findPlugin,
    candidate,
    owner,
  }: { findPlugin: (task: TaskRecord) => Promise<LoadedPlugin | undefined>; candidate: LoadedPlugin; owner: string },
): Promise<ReplayedTask[]> {
  const baseUrls = new Map(channels.map(({ id, baseUrl }) => [id, baseUrl]));
  const readers = new Map<string, Reader>();
  const findReader = (plugin: LoadedPlugin): Reader => {
    const reader = readers.get(plugin.sourceHash) ?? createReader(plugin.onTrial(), baseUrls, owner);
    readers.set(plugin.sourceHash, reader);
    return reader;
  };
  const latter = createReader(candidate, baseUrls, owner);
  const replayed: ReplayedTask[] = [];
  for (const task of tasks) {
    const plugin = await findPlugin(task);
    const former = plugin && findReader(plugin);
    const before = former ? await former.parse(task) : null;
    const after = await latter.parse(task);
    const statusBefore = before ? readStatus(before) : task.status;
    const changed = statusBefore !== readStatus(after);
    const listed = former && task.status === 'SUCCESS' ? await former.listKeys(task) : [];
    const kept = listed.length > 0 ? await latter.listKeys(task) : [];
    const lostArtifacts = listed.filter((key) => !kept.includes(key));
    replayed.push({ taskId: task.taskId, storedStatus: task.status, before, after, changed, lostArtifacts });
  }
  return replayed;
}

const readStatus = (verdict: ReplayVerdict): string => ('error' in verdict ? '' : verdict.status);

function createReader(plugin: LoadedPlugin, baseUrls: ReadonlyMap<number, string>, owner: string): Reader {
  let stopped = false;
  const stopAfter = ({ kind }: Pick<Failure, 'kind'>): void => {
    stopped = kind === 'timeout' || kind === 'killed';
  };
  return {
    async parse(task) {
      if (stopped) return { error: sentence('plugins.replay_stopped') };
      const parsed = await parseStored(plugin, task, { baseUrl: baseUrls.get(task.channelId) ?? '', owner });
      if (parsed.ok) {
        const { status, progress, reason } = parsed.value;
        return { status, progress: progress ?? null, reason };
      }
      stopAfter(parsed.error);
      return { error: describeFailure(parsed.error) };
    },
    async listKeys({ taskId, status, action, data, state, execution }) {
      if (stopped || !plugin.manifest.hasArtifacts) return [];
      const context = { taskId, status, action, data, state, producerVersion: execution.pluginVersion };
      const listed = await listArtifacts(plugin, context, { owner, admissionTimeoutMs: ADMISSION_MS });
      if (listed.ok) return listed.value.map(({ key }) => key);
      stopAfter(listed.error);
      return [];
    },
  };
}

type Failure = Sentence & { kind: HookFailure['kind'] | 'absent'; hook?: string };

/** Parses the stored answer of a task, in the context of a poll but without its credential. */
async function parseStored(
  plugin: LoadedPlugin,
  task: TaskRecord,
  { baseUrl, owner }: { baseUrl: string; owner: string },
): Promise<Result<ParsedTask, Failure>> {
  const { originModelName: model, upstreamModelName } = task.properties;
  const context = {
    taskId: task.upstreamTaskId || task.taskId,
    publicTaskId: task.taskId,
    action: task.action,
    model,
    upstreamModel: upstreamModelName || model,
    baseUrl,
    authHeader: '',
    data: task.data,
    state: task.state,
  };
  const options = { owner, admissionTimeoutMs: ADMISSION_MS };
  if (plugin.manifest.fetchMode === 'per_task')
    return parseTaskResult(plugin, { ctx: context, body: task.data, response: RESPONSE }, options);
  const batch = { baseUrl, authHeader: '', tasks: [context] };
  let first: Failure | undefined;
  for (const body of answersAround(task.data)) {
    const parsed = await parseBatchResult(plugin, { ctx: batch, body, response: RESPONSE }, options);
    const item = parsed.ok ? parsed.value.get(context.taskId) : undefined;
    if (item) return ok(item);
    const failure = parsed.ok ? NOT_FOUND : parsed.error;
    if (failure.kind === 'timeout' || failure.kind === 'killed') return err(failure);
    first ??= failure;
  }
  return err(first ?? NOT_FOUND);
}

/** A plugin's own error message needs no hook's name. */
const describeFailure = ({ kind, hook, ...said }: Failure): Sentence =>
  kind === 'invalid_result' && hook !== undefined
    ? sentence('hook.of', { hook, fault: toSentence(said) })
    : toSentence(said);

const NOT_FOUND: Failure = { kind: 'absent', ...sentence('plugins.replay_absent') };

/**
 * Answers that may contain a stored item. A task of a batch has only its item stored, not the
 * answer, so this tries the item itself and the forms in which vendors list items.
 */
const answersAround = (item: Json): Json[] => [item, [item], { data: [item] }];
