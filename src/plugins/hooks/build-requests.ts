import type { BatchQueryContext, DriverContext, TaskQueryContext } from '../../../contracts/v1.d.ts';
import { err, isObject, type Json, ok, type Result, type Sentence, sentence } from '../../kernel/index.ts';
import { canonicalHost, readBaseAddress } from '../../upstream/index.ts';
import type { HookFailure, LoadedPlugin, Manifest } from '../types.ts';
import { callHook, type HookOptions } from './call-hook.ts';
import {
  type DescriptorBody,
  isLeftOut,
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
export type SubmitRequest = PluginRequest & {
  action?: string;
  model?: string;
  rewriteModel?: string;
  /** The vendor answers with a stream of events. */
  isStream: boolean;
};

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

type SubmitRules = RequestRules & { manifest: Pick<Manifest, 'submitResponseTypes'> };

function readRequest(
  value: Json | undefined,
  { manifest, baseUrl, files = [] }: RequestRules,
  defaultMethod: string,
): Result<{ request: PluginRequest; descriptor: Record<string, unknown> }, Sentence> {
  if (!isObject(value)) return err(sentence('hook.no_request'));
  if (typeof value.url !== 'string' || value.url === '') return err(sentence('hook.url_required'));
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
  { pinnedModel, ...rules }: SubmitRules & { pinnedModel?: string | undefined },
): Result<SubmitRequest, Sentence> {
  const read = readRequest(value, rules, 'POST');
  if (!read.ok) return read;
  const { responseType: given } = read.value.descriptor;
  const responseType = isLeftOut(given) ? 'json' : given;
  if (!(rules.manifest.submitResponseTypes as readonly unknown[]).includes(responseType)) {
    return err(sentence('hook.response_type', { types: rules.manifest.submitResponseTypes.join(', ') }));
  }
  const submit: SubmitRequest = { ...read.value.request, isStream: responseType === 'sse' };
  for (const name of ['action', 'model', 'rewriteModel'] as const) {
    const text = readText(read.value.descriptor, name);
    if (!text.ok) return text;
    if (text.value !== undefined) submit[name] = text.value;
  }
  if (pinnedModel !== undefined && submit.model !== undefined && submit.model !== pinnedModel) {
    return err(sentence('hook.pinned_model'));
  }
  return ok(submit);
}

/** Checks the result of buildQueryRequest or buildBatchQueryRequest. */
export function readQueryRequest(value: Json | undefined, rules: RequestRules): Result<PluginRequest, Sentence> {
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

/** Longest URL that is sent (as in new-api). `data:` URLs have their own limit. */
export const MAX_URL_LENGTH = 65_536;

const toPort = (url: URL): string => url.port || (url.protocol === 'https:' ? '443' : '80');

/**
 * Whether the channel's credential may go to `url`: its host is that of the channel's base URL, or
 * one of `allowedHosts`. An entry with a port matches that port only, an entry without one the
 * scheme's default port. Redirects of such requests follow the same rule.
 */
export function allowsHost(manifest: Pick<Manifest, 'allowedHosts'>, channelBaseUrl: string, url: URL): boolean {
  const base = readBaseAddress(channelBaseUrl);
  if (base?.isSecure && url.protocol !== 'https:') return false;
  if (base?.host === canonicalHost(url)) return true;
  return manifest.allowedHosts.some((entry) => isHost(entry, url));
}

/**
 * Whether a URL's host is an entry `host` or `host:port` in lower case. One with a port matches
 * that port only, one without it the scheme's default port.
 */
function isHost(entry: string, url: URL): boolean {
  const hostname = url.hostname.toLowerCase();
  return /:\d+$/.test(entry) ? entry === `${hostname}:${toPort(url)}` : entry === hostname && url.port === '';
}

/** Whether a redirect may lead to `url`: entries are those of `isHost`, or `*.host`. */
export const isRedirectHost = (entries: readonly string[], url: URL): boolean =>
  entries.some((entry) =>
    entry.startsWith('*.') ? url.port === '' && url.hostname.endsWith(entry.slice(1)) : isHost(entry, url),
  );

type DescribedUrl = {
  channelBaseUrl: string;
  url: string;
  /** The channel's credential is not sent: any host is allowed. */
  credentialless: boolean;
};

/**
 * Checks the URL of a request that a plugin described: absolute http(s) without user info, fragment
 * or whitespace, never http where the channel is https, and to an allowed host.
 */
export function checkRequestUrl(
  manifest: Pick<Manifest, 'allowedHosts'>,
  { channelBaseUrl, url: text, credentialless }: DescribedUrl,
): Result<URL, Sentence> {
  if (text.length > MAX_URL_LENGTH) return err(sentence('hook.url_length', { max: MAX_URL_LENGTH }));
  const url = /[\s\p{Cc}]/u.test(text) ? null : URL.parse(text);
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') return err(sentence('hook.url_absolute'));
  if (url.username !== '' || url.password !== '') return err(sentence('hook.url_credentials'));
  if (text.includes('#')) return err(sentence('hook.url_fragment'));
  if (credentialless || allowsHost(manifest, channelBaseUrl, url)) return ok(url);
  return err(sentence('hook.host', { host: canonicalHost(url) }));
}
