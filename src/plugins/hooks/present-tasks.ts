import type { NativeError, ProtocolContext, RouteContext, TaskView } from '../../../contracts/v1.d.ts';
import { err, isObject, type Json, type JsonObject, ok, type Result } from '../../kernel/index.ts';
import type { HookFailure, LoadedPlugin, PluginRoute } from '../types.ts';
import { callHook, type HookOptions } from './call-hook.ts';

/** Reads what a video's renderer returned. */
export const readVideo = (value: Json | undefined): Result<JsonObject, string> =>
  isObject(value) ? ok(value as JsonObject) : err('the plugin rendered no object');

/** The plugin's video object; the host then overwrites identity, lifecycle and times. */
export function renderVideo(
  plugin: LoadedPlugin,
  ctx: ProtocolContext,
  task: TaskView,
  options: HookOptions,
): Promise<Result<JsonObject, HookFailure>> {
  return callHook(plugin, 'protocols.proto_video.render', [ctx, task], options, readVideo);
}

/** The body of a native route's answer: any JSON. Dynamic queries hand over a list of tasks. */
export function renderNative(
  plugin: LoadedPlugin,
  route: PluginRoute,
  ctx: RouteContext,
  task: TaskView | TaskView[],
  options: HookOptions,
): Promise<Result<Json, HookFailure>> {
  return callHook(plugin, `native.${route.render}`, [ctx, task], options, (value) => ok(value ?? null));
}

/**
 * The vendor-shaped error body; `undefined` when the plugin has no presenter for errors or it
 * returned nothing.
 */
export async function renderNativeError(
  plugin: LoadedPlugin,
  ctx: RouteContext,
  error: NativeError,
  options: HookOptions,
): Promise<Result<Json | undefined, HookFailure>> {
  if (!plugin.has('native.error')) return ok(undefined);
  return callHook(plugin, 'native.error', [ctx, error], options, (value) => ok(value));
}
