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

/** What an answer of the vendor says about the use. */
export type CollectedUsage = {
  /** The task's snapshot with the new facts; absent where nothing is new. */
  billing?: BillingSnapshot;
  /**
   * The facts could not be had, and why. `host`: through no fault of the plugin, so that asking
   * again may help.
   */
  trouble?: { message: string; host: boolean };
};

export type UsageCall = { plugin: LoadedPlugin; options: HookOptions };

/**
 * Facts of the vendor's answer to the submission. Trouble leaves those of the reservation in force.
 */
export async function usageOnSubmit(
  deps: TaskDeps,
  { plugin, options }: UsageCall,
  context: DriverContext,
  task: TaskRecord,
  taskData: Json,
): Promise<BillingSnapshot> {
  const { billing } = task;
  if (!plugin.has('extractUsageOnSubmit') || !deps.billing.readsFacts(billing)) return billing;
  const facts = await extractUsageOnSubmit(plugin, { ctx: context, taskData }, options);
  if (facts.ok) return facts.value === null ? billing : { ...billing, submissionFacts: facts.value };
  deps.logger.warn(
    { task_id: task.taskId, reason: describeHookFailure(facts.error) },
    'usage facts of an accepted submission were not usable; those of the request stay in force',
  );
  return billing;
}

/** Facts of a parsed poll: the newest of each name counts at the end. */
export async function usageOnComplete(
  deps: TaskDeps,
  { plugin, options }: UsageCall,
  context: TaskQueryContext,
  task: TaskRecord,
  result: ParsedTask,
  body: Json,
): Promise<CollectedUsage> {
  const { billing } = task;
  if (!deps.billing.readsFacts(billing)) return {};
  const facts = await extractUsageOnComplete(plugin, { ctx: context, result: completedResult(result), body }, options);
  if (!facts.ok) {
    const { message } = facts.error;
    const reason = describeHookFailure(facts.error);
    const fields = { task_id: task.taskId, status: result.status, reason };
    deps.logger[result.status === 'SUCCESS' ? 'warn' : 'debug'](fields, 'usage facts of an answer were not usable');
    return { trouble: { message, host: isHostFailure(facts.error) } };
  }
  const known: JsonObject = billing.completionFacts ?? {};
  const fresh = Object.entries(facts.value ?? {}).some(([name, value]) => known[name] !== value);
  return fresh ? { billing: { ...billing, completionFacts: { ...known, ...facts.value } } } : {};
}

/** The parsed poll in the spelling that usage hooks are promised. */
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
