import type { NativeError, ProtocolContext, RouteContext, TaskView } from '../../../contracts/v1.d.ts';
import {
  err,
  isObject,
  type Json,
  type JsonObject,
  ok,
  type Result,
  type Sentence,
  sentence,
} from '../../kernel/index.ts';
import type { HookFailure, LoadedPlugin, PluginRoute } from '../types.ts';
import { callHook, type HookOptions } from './call-hook.ts';

/** Checks the result of proto_video's render. */
export const readVideo = (value: Json | undefined): Result<JsonObject, Sentence> =>
  isObject(value) ? ok(value as JsonObject) : err(sentence('hook.no_object'));

/** The plugin's video object. The host then overwrites identity, lifecycle and times. */
export function renderVideo(
  plugin: LoadedPlugin,
  { ctx, task }: { ctx: ProtocolContext; task: TaskView },
  options: HookOptions,
): Promise<Result<JsonObject, HookFailure>> {
  return callHook(plugin, { hook: 'protocols.proto_video.render', args: [ctx, task], options, read: readVideo });
}

/** The body of a native route's answer: any JSON. `task` is a list for dynamic queries. */
export function renderNative(
  plugin: LoadedPlugin,
  { route, ctx, task }: { route: PluginRoute; ctx: RouteContext; task: TaskView | TaskView[] },
  options: HookOptions,
): Promise<Result<Json, HookFailure>> {
  return callHook(plugin, {
    hook: `native.${route.render}`,
    args: [ctx, task],
    options,
    read: (value) => ok(value ?? null),
  });
}

/**
 * An error's body in the vendor's format. `undefined` if the plugin has no presenter for errors, or
 * if it returned nothing.
 */
export async function renderNativeError(
  plugin: LoadedPlugin,
  { ctx, error }: { ctx: RouteContext; error: NativeError },
  options: HookOptions,
): Promise<Result<Json | undefined, HookFailure>> {
  if (!plugin.has('native.error')) return ok(undefined);
  return callHook(plugin, { hook: 'native.error', args: [ctx, error], options, read: (value) => ok(value) });
}
