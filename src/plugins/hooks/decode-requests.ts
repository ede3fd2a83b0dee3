import type { ProtocolContext, RouteContext } from '../../../contracts/v1.d.ts';
import {
  countCharacters,
  err,
  isObject,
  type Json,
  ok,
  type Result,
  type Sentence,
  sentence,
} from '../../kernel/index.ts';
import type { HookFailure, LoadedPlugin, Manifest, PluginRoute, ProtocolName } from '../types.ts';
import { callHook, type HookOptions } from './call-hook.ts';
import { CONTROL } from './read-descriptor.ts';

/** Limit of the reference gateway, new-api, which plugins are written for. */
const MAX_QUERIED_TASKS = 100;

export type DecodedSubmit = {
  kind: 'submit';
  model: string;
  /** Not blank. Absent if the plugin leaves it to the route or to buildSubmitRequest. */
  action?: string;
  /** Absent if the plugin gave none; the client's body is not passed on instead. */
  requestBody?: Json;
  /**
   * As the plugin returned it, unchecked: the ids often come from the client, so the code that
   * looks the tasks up checks them.
   */
  originTaskIds?: Json;
};
export type DecodedQuery = { kind: 'query'; taskIds: string[] };

const INVALID = sentence('hook.route_result');

function readSubmit(value: Record<string, unknown>): Result<DecodedSubmit, Sentence> {
  const { model, action, requestBody, originTaskIds } = value;
  if (typeof model !== 'string' || model.trim() === '') return err(sentence('hook.string_blank', { name: 'model' }));
  if (action !== undefined && action !== null && typeof action !== 'string')
    return err(sentence('hook.string', { name: 'action' }));
  if (typeof action === 'string' && CONTROL.test(action)) return err(sentence('hook.control', { name: 'action' }));
  return ok({
    kind: 'submit',
    model,
    ...(typeof action === 'string' && action.trim() !== '' ? { action: action.trim() } : {}),
    ...(requestBody === undefined ? {} : { requestBody: requestBody as Json }),
    ...(originTaskIds === undefined ? {} : { originTaskIds: originTaskIds as Json }),
  });
}

function readQuery(value: Record<string, unknown>): Result<DecodedQuery, Sentence> {
  const { taskIds } = value;
  if (!Array.isArray(taskIds) || taskIds.some((id) => typeof id !== 'string' || id.trim() === '')) {
    return err(sentence('hook.task_ids'));
  }
  if (taskIds.length > MAX_QUERIED_TASKS) return err(sentence('hook.tasks_max', { max: MAX_QUERIED_TASKS }));
  return ok({ kind: 'query', taskIds: taskIds as string[] });
}

/** Checks the result of a protocol's decodeRequest. `model` is the client's. */
export function readProtocolIntent(value: Json | undefined, model: unknown): Result<DecodedSubmit, Sentence> {
  if (!isObject(value) || value.kind !== 'submit' || Object.hasOwn(value, 'renderer')) return err(INVALID);
  const submit = readSubmit(value);
  if (submit.ok && submit.value.model !== model) return err(sentence('hook.decoded_model'));
  return submit;
}

/** Checks the result of a native decoder. */
export function readNativeIntent(
  value: Json | undefined,
  route: PluginRoute,
): Result<DecodedSubmit | DecodedQuery, Sentence> {
  if (!isObject(value) || Object.hasOwn(value, 'renderer')) return err(INVALID);
  if (value.kind === 'query' && route.type === 'dynamic') return readQuery(value);
  if (value.kind !== 'submit') return err(INVALID);
  const submit = readSubmit(value);
  if (!submit.ok) return submit;
  const { action } = submit.value;
  return ok(action === undefined && route.action ? { ...submit.value, action: route.action } : submit.value);
}

/** Why a decoded model cannot be submitted; `undefined` if the plugin serves it on this route. */
export function findUnservedModel(
  { models }: Pick<Manifest, 'models'>,
  route: Pick<PluginRoute, 'models'>,
  model: string,
): Sentence | undefined {
  if (models.includes(model) && route.models?.includes(model) !== false) return undefined;
  return sentence('tasks.model_not_of_plugin', { model: JSON.stringify(model.slice(0, 120)) });
}

/** Limits of the reference gateway, new-api, for the earlier tasks that a submission builds on. */
const MAX_ORIGIN_TASKS = 16;
const MAX_ORIGIN_ID_CODE_POINTS = 128;

/** The `originTaskIds` of a decoder, trimmed and without duplicates; empty if it gave none. */
export function readOriginTaskIds(named: Json | undefined): Result<string[], Sentence> {
  if (named === undefined || named === null) return ok([]);
  const ids = new Set(Array.isArray(named) ? named.map((id) => (typeof id === 'string' ? id.trim() : '')) : ['']);
  const isId = (id: string): boolean => id !== '' && countCharacters(id) <= MAX_ORIGIN_ID_CODE_POINTS;
  if (ids.size <= MAX_ORIGIN_TASKS && [...ids].every(isId)) return ok([...ids]);
  return err(sentence('tasks.origin_ids', { tasks: MAX_ORIGIN_TASKS, max: MAX_ORIGIN_ID_CODE_POINTS }));
}

/** Decodes a request to a host protocol. The plugin must echo the client's model. */
export function decodeProtocolRequest(
  plugin: LoadedPlugin,
  { protocol, ctx }: { protocol: ProtocolName; ctx: ProtocolContext },
  options: HookOptions,
): Promise<Result<DecodedSubmit, HookFailure>> {
  return callHook(plugin, {
    hook: `protocols.${protocol}.decodeRequest`,
    args: [ctx],
    options,
    read: (value) => readProtocolIntent(value, ctx.model),
  });
}

/**
 * Decodes a request to a native route. Only a request to a dynamic route may be a query. Whether
 * the model is served is not checked here (see `findUnservedModel`): it often comes from the
 * client, and is then the client's mistake, not the plugin's.
 */
export function decodeNativeRequest(
  plugin: LoadedPlugin,
  { route, ctx }: { route: PluginRoute; ctx: RouteContext },
  options: HookOptions,
): Promise<Result<DecodedSubmit | DecodedQuery, HookFailure>> {
  return callHook(plugin, {
    hook: `native.${route.decode ?? ''}`,
    args: [ctx],
    options,
    read: (value) => readNativeIntent(value, route),
  });
}
