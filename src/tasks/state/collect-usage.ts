import type { Json, JsonObject } from '../../kernel/index.ts';
import {
  type CompletedResult,
  type DriverContext,
  describeHookFailure,
  extractUsageOnComplete,
  extractUsageOnSubmit,
  type HookOptions,
  isHostFailure,
  type LoadedPlugin,
  type ParsedTask,
  type TaskQueryContext,
} from '../../plugins/index.ts';
import type { BillingSnapshot, TaskRecord } from '../../store/ports/index.ts';
import type { TaskDeps } from '../types.ts';

/** The usage facts of one vendor answer. */
export type CollectedUsage = {
  /** The task's billing snapshot with the new facts; absent when nothing is new. */
  billing?: BillingSnapshot;
  /** Why the facts are missing. `host`: not the plugin's fault, so a retry may help. */
  trouble?: { message: string; host: boolean };
};

/** The plugin whose hooks are called, and the options of these calls. */
export type HookCall = { plugin: LoadedPlugin; options: HookOptions };

type SubmitUsage = { context: DriverContext; task: TaskRecord; taskData: Json };

/** Facts in the answer to the submission. If the hook fails, the reservation's facts stay valid. */
export async function usageOnSubmit(
  deps: TaskDeps,
  { plugin, options }: HookCall,
  { context, task, taskData }: SubmitUsage,
): Promise<BillingSnapshot> {
  const { billing } = task;
  if (!plugin.has('extractUsageOnSubmit') || !deps.billing.readsFacts(billing)) return billing;
  const facts = await extractUsageOnSubmit(plugin, { ctx: context, taskData }, options);
  if (facts.ok) return facts.value === null ? billing : { ...billing, submissionFacts: facts.value };
  deps.logger.warn(
    { task_id: task.taskId, reason: describeHookFailure(facts.error) },
    "usage facts of an accepted submission were not usable; the request's own facts stay valid",
  );
  return billing;
}

type PollUsage = { context: TaskQueryContext; task: TaskRecord; result: ParsedTask; body: Json };

/** Facts in a parsed poll. A newer fact replaces the stored one of the same name. */
export async function usageOnComplete(
  deps: TaskDeps,
  { plugin, options }: HookCall,
  { context, task, result, body }: PollUsage,
): Promise<CollectedUsage> {
  const { billing } = task;
  if (!deps.billing.readsFacts(billing)) return {};
  const facts = await extractUsageOnComplete(plugin, { ctx: context, result: completedResult(result), body }, options);
  if (!facts.ok) {
    const { message } = facts.error;
    const reason = describeHookFailure(facts.error);
    const logFields = { task_id: task.taskId, status: result.status, reason };
    deps.logger[result.status === 'SUCCESS' ? 'warn' : 'debug'](logFields, 'usage facts of a poll were not usable');
    return { trouble: { message, host: isHostFailure(facts.error) } };
  }
  const known: JsonObject = billing.completionFacts ?? {};
  const fresh = Object.entries(facts.value ?? {}).some(([name, value]) => known[name] !== value);
  return fresh ? { billing: { ...billing, completionFacts: { ...known, ...facts.value } } } : {};
}

/** The parsed poll with the member names that usage hooks expect. */
const completedResult = (result: ParsedTask): CompletedResult => ({
  status: result.status,
  reason: result.reason,
  ...(result.code === undefined ? {} : { code: result.code }),
  ...(result.taskId === undefined ? {} : { task_id: result.taskId }),
  ...(result.url === undefined ? {} : { url: result.url }),
  ...(result.remoteUrl === undefined ? {} : { remote_url: result.remoteUrl }),
  ...(result.progress === undefined ? {} : { progress: result.progress }),
  ...(result.completionTokens === undefined ? {} : { completion_tokens: result.completionTokens }),
  ...(result.totalTokens === undefined ? {} : { total_tokens: result.totalTokens }),
});
