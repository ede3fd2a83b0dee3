import { mergeReport, REPORT_MARGIN } from '../../billing/index.ts';
import { type Json, type JsonObject, type Sentence, sentence, toSentence } from '../../kernel/index.ts';
import {
  type CompletedResult,
  type DriverContext,
  describeHookFailure,
  extractUsageOnComplete,
  extractUsageOnSubmit,
  findUsage,
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
  trouble?: { said: Sentence; host: boolean };
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
  const implausible = facts.ok
    ? findImplausible(plugin, { context, asked: billing.facts, reported: facts.value })
    : undefined;
  if (facts.ok && implausible === undefined)
    return facts.value === null ? billing : { ...billing, submissionFacts: facts.value };
  if (implausible !== undefined) deps.telemetry.meter?.implausibleUsage(task.channelId);
  deps.logger.warn(
    { task_id: task.taskId, reason: implausible?.message ?? (facts.ok ? '' : describeHookFailure(facts.error)) },
    "usage facts of an accepted submission were not usable; the request's own facts stay valid",
  );
  return billing;
}

type PollUsage = { context: TaskQueryContext; task: TaskRecord; result: ParsedTask; body: Json };

/** Facts in a parsed poll. A newer fact replaces the stored one of its name, unless by zero. */
export async function usageOnComplete(
  deps: TaskDeps,
  { plugin, options }: HookCall,
  { context, task, result, body }: PollUsage,
): Promise<CollectedUsage> {
  const { billing } = task;
  if (!deps.billing.readsFacts(billing)) return {};
  const facts = await extractUsageOnComplete(plugin, { ctx: context, result: completedResult(result), body }, options);
  if (!facts.ok) {
    const reason = describeHookFailure(facts.error);
    const logFields = { task_id: task.taskId, status: result.status, reason };
    deps.logger[result.status === 'SUCCESS' ? 'warn' : 'debug'](logFields, 'usage facts of a poll were not usable');
    return { trouble: { said: toSentence(facts.error), host: isHostFailure(facts.error) } };
  }
  const implausible = findImplausible(plugin, { context, asked: billing.facts, reported: facts.value });
  if (implausible !== undefined) {
    if (result.status === 'SUCCESS') {
      const logFields = { task_id: task.taskId, channel_id: task.channelId, reason: implausible.message };
      deps.logger.error(logFields, 'vendor reported more usage than the request allowed; the reservation is charged');
      deps.telemetry.meter?.implausibleUsage(task.channelId);
    }
    return { trouble: { said: implausible, host: false } };
  }
  const known: JsonObject = billing.completionFacts ?? {};
  const fresh = facts.value ?? {};
  // The answer to the submission has reported, too.
  const merged = mergeReport({ ...billing.submissionFacts, ...known }, fresh);
  const completionFacts: JsonObject = { ...known };
  for (const name of Object.keys(fresh)) completionFacts[name] = merged[name] ?? null;
  const isNew = Object.entries(completionFacts).some(([name, value]) => known[name] !== value);
  return isNew ? { billing: { ...billing, completionFacts } } : {};
}

/**
 * Tokens and credits are estimated, and a settlement far above the estimate is charged. No vendor
 * takes this many for one task, unless the estimate says so: pixels are counted in tokens too.
 */
const MOST_TOKENS = 100_000_000;

type ModelNames = Pick<TaskQueryContext, 'model' | 'upstreamModel'>;

/**
 * Why the facts of an answer cannot be what the request allowed; undefined: they can. For relayed
 * answers `relay/usage/calculate-bill.ts` decides.
 */
function findImplausible(
  { manifest }: LoadedPlugin,
  { context, asked, reported }: { context: ModelNames; asked: JsonObject; reported: JsonObject | null },
): Sentence | undefined {
  const { usageSchema } = findUsage(manifest, context);
  for (const [name, value] of Object.entries(reported ?? {})) {
    const field = Object.hasOwn(usageSchema, name) ? usageSchema[name] : undefined;
    if (typeof value !== 'number') continue;
    const wanted = typeof asked[name] === 'number' ? REPORT_MARGIN * asked[name] : 0;
    const isAsked = field?.kind === 'number' && (field.unit === 'second' || field.unit === 'count');
    const most = isAsked && wanted > 0 ? wanted : Math.max(wanted, MOST_TOKENS);
    if (value > most) return sentence('tasks.usage_beyond', { count: value, fact: name });
  }
  return undefined;
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
