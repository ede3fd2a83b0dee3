import type { BatchQueryContext, DriverContext, TaskQueryContext } from '../../../contracts/v1.d.ts';
import { err, isObject, type Json, ok, type Result } from '../../kernel/index.ts';
import type { HookFailure, LoadedPlugin, Manifest } from '../types.ts';
import { callHook, type HookOptions } from './call-hook.ts';
import { checkRequestUrl } from './check-request-url.ts';
import {
  type DescriptorBody,
  type KnownFiles,
  readBody,
  readHeaders,
  readMethod,
  readText,
} from './read-descriptor.ts';

/** A request to the vendor that has passed all checks. */
export type PluginRequest = { url: string; method: string; headers: Record<string, string>; body: DescriptorBody };
/**
 * `action`, `model` (for billing) and `rewriteModel` (for the vendor): set if the plugin gave them.
 */
export type SubmitRequest = PluginRequest & { action?: string; model?: string; rewriteModel?: string };

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/**
 * What a described request is checked against. `files`: of the client's request, submissions only.
 */
type RequestRules = {
  manifest: Pick<Manifest, 'allowedHosts'>;
  /** Base URL of the channel. */
  baseUrl: string;
  files?: KnownFiles;
};

function readRequest(
  value: Json | undefined,
  { manifest, baseUrl, files = [] }: RequestRules,
  defaultMethod: string,
): Result<{ request: PluginRequest; descriptor: Record<string, unknown> }, string> {
  if (!isObject(value)) return err('the plugin returned no request');
  if (typeof value.url !== 'string' || value.url === '') return err('url is required');
  const url = checkRequestUrl(manifest, { channelBaseUrl: baseUrl, url: value.url, credentialless: false });
  if (!url.ok) return url;
  const method = readMethod(value.method, defaultMethod, METHODS);
  if (!method.ok) return method;
  const headers = readHeaders(value.headers);
  if (!headers.ok) return headers;
  const body = readBody(value, files);
  if (!body.ok) return body;
  return ok({
    request: { url: value.url, method: method.value, headers: headers.value, body: body.value },
    descriptor: value,
  });
}

/** Checks the result of buildSubmitRequest. The error says which rule it breaks. */
export function readSubmitRequest(
  value: Json | undefined,
  { pinnedModel, ...rules }: RequestRules & { pinnedModel?: string | undefined },
): Result<SubmitRequest, string> {
  const read = readRequest(value, rules, 'POST');
  if (!read.ok) return read;
  const submit: SubmitRequest = { ...read.value.request };
  for (const name of ['action', 'model', 'rewriteModel'] as const) {
    const text = readText(read.value.descriptor, name);
    if (!text.ok) return text;
    if (text.value !== undefined) submit[name] = text.value;
  }
  if (pinnedModel !== undefined && submit.model !== undefined && submit.model !== pinnedModel) {
    return err('plugin submit model does not match the pinned endpoint model');
  }
  return ok(submit);
}

/** Checks the result of buildQueryRequest or buildBatchQueryRequest. */
export function readQueryRequest(value: Json | undefined, rules: RequestRules): Result<PluginRequest, string> {
  const read = readRequest(value, rules, 'GET');
  return read.ok ? ok(read.value.request) : read;
}

/**
 * Builds the request that submits a task. `pinnedModel` is the client's model on a protocol: the
 * plugin may repeat it, but not replace it. The URL is checked against `ctx.baseUrl`, file
 * references against `ctx.files`.
 */
export function buildSubmitRequest(
  plugin: LoadedPlugin,
  ctx: DriverContext,
  options: HookOptions & { pinnedModel?: string },
): Promise<Result<SubmitRequest, HookFailure>> {
  const { pinnedModel, ...callOptions } = options;
  const { manifest } = plugin;
  const { baseUrl, files } = ctx;
  return callHook(plugin, {
    hook: 'buildSubmitRequest',
    args: [ctx],
    options: callOptions,
    read: (value) => readSubmitRequest(value, { manifest, baseUrl, files, pinnedModel }),
  });
}

/** Builds the request that queries one task. */
export function buildQueryRequest(
  plugin: LoadedPlugin,
  ctx: TaskQueryContext,
  options: HookOptions,
): Promise<Result<PluginRequest, HookFailure>> {
  return callHook(plugin, {
    hook: 'buildQueryRequest',
    args: [ctx],
    options,
    read: (value) => readQueryRequest(value, { manifest: plugin.manifest, baseUrl: ctx.baseUrl }),
  });
}

/** Builds the request that queries all tasks of `ctx` at once. */
export function buildBatchQueryRequest(
  plugin: LoadedPlugin,
  ctx: BatchQueryContext,
  options: HookOptions,
): Promise<Result<PluginRequest, HookFailure>> {
  return callHook(plugin, {
    hook: 'buildBatchQueryRequest',
    args: [ctx, ctx.tasks],
    options,
    read: (value) => readQueryRequest(value, { manifest: plugin.manifest, baseUrl: ctx.baseUrl }),
  });
}
