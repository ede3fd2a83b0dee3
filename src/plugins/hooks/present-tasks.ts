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
export const checkRenderedVideo = (value: Json | undefined): Result<JsonObject, Sentence> =>
  isObject(value) ? ok(value as JsonObject) : err(sentence('hook.no_object'));

/** The plugin's video object. The host then overwrites identity, lifecycle and times. */
export function callVideoRender(
  plugin: LoadedPlugin,
  { ctx, task }: { ctx: ProtocolContext; task: TaskView },
  options: HookOptions,
): Promise<Result<JsonObject, HookFailure>> {
  return callHook(plugin, {
    hook: 'protocols.proto_video.render',
    args: [ctx, task],
    options,
    read: checkRenderedVideo,
  });
}

/** OpenAI's list of images, as a plugin rendered it; other members are the plugin's own. */
export type RenderedImages = JsonObject & { data: (JsonObject & ({ url: string } | { b64_json: string }))[] };

const MAX_IMAGES = 128;

/** Checks the result of proto_image's render. Undefined leaves the images to the host. */
export function checkRenderedImages(value: Json | undefined): Result<RenderedImages | undefined, Sentence> {
  if (value === undefined || value === null) return ok(undefined);
  if (!isObject(value)) return err(sentence('hook.no_object'));
  const { data } = value;
  if (!Array.isArray(data)) return err(sentence('hook.list', { name: 'data' }));
  if (data.length > MAX_IMAGES) return err(sentence('hook.items_max', { name: 'data', max: MAX_IMAGES }));
  const isImage = (item: unknown): boolean =>
    isObject(item) && [item.url, item.b64_json].some((text) => typeof text === 'string' && text !== '');
  const wrong = data.findIndex((item) => !isImage(item));
  if (wrong >= 0) return err(sentence('hook.image', { name: `data[${wrong}]` }));
  return ok(value as RenderedImages);
}

/** The images of a task that has succeeded, for the client that waits for them. */
export const callImageRender = (
  plugin: LoadedPlugin,
  { ctx, task }: { ctx: ProtocolContext; task: TaskView },
  options: HookOptions,
): Promise<Result<RenderedImages | undefined, HookFailure>> =>
  callHook(plugin, { hook: 'protocols.proto_image.render', args: [ctx, task], options, read: checkRenderedImages });

/** The body of a native route's answer: any JSON. `task` is a list for dynamic queries. */
export function callNativeRender(
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
export async function callNativeError(
  plugin: LoadedPlugin,
  { ctx, error }: { ctx: RouteContext; error: NativeError },
  options: HookOptions,
): Promise<Result<Json | undefined, HookFailure>> {
  if (!plugin.has('native.error')) return ok(undefined);
  return callHook(plugin, { hook: 'native.error', args: [ctx, error], options, read: (value) => ok(value) });
}
