import type { CompletedResult, DriverContext, TaskQueryContext } from '../../../contracts/v1.d.ts';
import { type Json, type JsonObject, ok, type Result } from '../../kernel/index.ts';
import type { HookFailure, LoadedPlugin } from '../types.ts';
import { addTokenCounts } from '../usage/add-token-counts.ts';
import { checkUsageFacts } from '../usage/check-facts.ts';
import { callHook, type HookOptions } from './call-hook.ts';

/** `null`: the plugin has no such hook, or it returned nothing. */
export type ExtractedUsage = Promise<Result<JsonObject | null, HookFailure>>;

function extract(plugin: LoadedPlugin, hook: string, args: readonly unknown[], options: HookOptions): ExtractedUsage {
  if (!plugin.has(hook)) return Promise.resolve(ok(null));
  return callHook(plugin, hook, args, options, (value) => checkUsageFacts(plugin.manifest.usageSchema, value));
}

/** Facts for the price, before the reservation. */
export const extractUsage = (plugin: LoadedPlugin, ctx: DriverContext, options: HookOptions): ExtractedUsage =>
  extract(plugin, 'extractUsage', [{ ...ctx, usagePurpose: 'facts' }], options);

/** Facts of the vendor's answer to the submission, to overlay those of the reservation. */
export const extractUsageOnSubmit = (
  plugin: LoadedPlugin,
  ctx: DriverContext,
  taskData: Json,
  options: HookOptions,
): ExtractedUsage => extract(plugin, 'extractUsageOnSubmit', [ctx, taskData], options);

/**
 * Facts of a parsed poll, to overlay all earlier ones; with the token counts that the result itself
 * names.
 */
export async function extractUsageOnComplete(
  plugin: LoadedPlugin,
  ctx: TaskQueryContext,
  result: CompletedResult,
  body: Json,
  options: HookOptions,
): ExtractedUsage {
  const reported = await extract(plugin, 'extractUsageOnComplete', [ctx, result, body], options);
  return reported.ok ? ok(addTokenCounts(plugin.manifest.usageSchema, result, reported.value)) : reported;
}
