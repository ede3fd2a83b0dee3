import type { CompletedResult, DriverContext, TaskQueryContext } from '../../../contracts/v1.d.ts';
import { type Json, type JsonObject, ok, type Result } from '../../kernel/index.ts';
import { checkUsageFacts, findUsage } from '../manifest/check-facts.ts';
import type { HookFailure, LoadedPlugin, UsageField } from '../types.ts';
import { callHook, type HookOptions } from './call-hook.ts';

/** Checked facts. `null`: the plugin has no such hook, or it returned nothing. */
export type ExtractedUsage = Promise<Result<JsonObject | null, HookFailure>>;

type UsageCall = {
  hook: string;
  args: readonly [DriverContext | TaskQueryContext, ...unknown[]];
  options: HookOptions;
};

function extract(plugin: LoadedPlugin, { hook, args, options }: UsageCall): ExtractedUsage {
  if (!plugin.has(hook)) return Promise.resolve(ok(null));
  return callHook(plugin, {
    hook,
    args,
    options,
    read: (value) => checkUsageFacts(findUsage(plugin.manifest, args[0]).usageSchema, value),
  });
}

/** Facts for the price, before the reservation. */
export const extractUsage = (plugin: LoadedPlugin, ctx: DriverContext, options: HookOptions): ExtractedUsage =>
  extract(plugin, { hook: 'extractUsage', args: [{ ...ctx, usagePurpose: 'facts' }], options });

/** Facts of the vendor's answer to the submission. They override those of the reservation. */
export const extractUsageOnSubmit = (
  plugin: LoadedPlugin,
  { ctx, taskData }: { ctx: DriverContext; taskData: Json },
  options: HookOptions,
): ExtractedUsage => extract(plugin, { hook: 'extractUsageOnSubmit', args: [ctx, taskData], options });

/**
 * Facts of a parsed poll, with the token counts of the result itself. They override all earlier
 * facts.
 */
export async function extractUsageOnComplete(
  plugin: LoadedPlugin,
  { ctx, result, body }: { ctx: TaskQueryContext; result: CompletedResult; body: Json },
  options: HookOptions,
): ExtractedUsage {
  const reported = await extract(plugin, { hook: 'extractUsageOnComplete', args: [ctx, result, body], options });
  return reported.ok
    ? ok(addTokenCounts(findUsage(plugin.manifest, ctx).usageSchema, result, reported.value))
    : reported;
}

/**
 * Facts of a parsed poll, with the vendor's token counts. `completionTokens` and `totalTokens` come
 * from the task result, unless the hook reports them. `upstreamUnits` of the hook, if above 0,
 * overrides both. Counts of 0 are ignored beside others. `null` if there are no facts at all.
 */
export function addTokenCounts(
  schema: Readonly<Record<string, UsageField>>,
  result: CompletedResult,
  reported: JsonObject | null,
): JsonObject | null {
  const { completion_tokens: completion = 0, total_tokens: total = 0 } = result;
  const parsed = {
    ...(completion > 0 ? { completionTokens: completion } : {}),
    ...(total > 0 ? { totalTokens: total } : {}),
  };
  const units = reported?.upstreamUnits;
  const counted: JsonObject =
    typeof units === 'number' && units > 0 ? { completionTokens: units, totalTokens: units } : {};
  const named = checkCounts(schema, parsed);
  const hooks = Object.fromEntries(
    Object.entries(reported ?? {}).filter(([name, value]) => value !== 0 || !named[name]),
  );
  const facts = { ...named, ...hooks, ...checkCounts(schema, counted) };
  return Object.keys(facts).length > 0 ? facts : null;
}

/** Drops the counts if the plugin declares one of their names as something else. */
function checkCounts(schema: Readonly<Record<string, UsageField>>, counts: JsonObject): JsonObject {
  const facts = checkUsageFacts(schema, counts);
  return facts.ok ? (facts.value ?? {}) : {};
}
