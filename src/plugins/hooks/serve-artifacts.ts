/** The hooks that list a task's artifacts and say where each is, and which results are accepted. */
import type { Artifact, ArtifactContext, ContentContext, ResolveContext } from '../../../contracts/v1.d.ts';
import { err, isObject, type Json, ok, type Result, type Sentence, sentence } from '../../kernel/index.ts';
import { isHostname, normalizeAllowedHost } from '../manifest/addresses.ts';
import type { HookFailure, LoadedPlugin, Manifest } from '../types.ts';
import { checkRequestUrl, MAX_URL_LENGTH, type PluginRequest, readQueryRequest } from './build-requests.ts';
import { callHook, type HookOptions } from './call-hook.ts';
import { readHeaders, readMethod } from './read-descriptor.ts';

/** Limits of new-api, the reference gateway that plugins are written for. */
const MAX_ARTIFACTS = 64;
const MAX_BODY_BYTES = 1_048_576;
const MAX_REDIRECT_HOSTS = 16;
const MAX_DATA_URL_LENGTH = 64 * 1024 * 1024;
const ARTIFACT_KEY = /^[A-Za-z0-9][A-Za-z0-9._~-]{0,127}$/;
const ARTIFACT_TYPES: ReadonlySet<unknown> = new Set(['video', 'audio', 'image', 'file']);
/** RFC 2397: the media type, if any, its parameters, and the marker that the data are base64. */
const DATA_HEADER = /^data:((?:[\w!#$&^.+-]+\/[\w!#$&^.+-]+)?)(?:;[\w!#$&^.+-]+=[^;,\s]*)*;base64$/i;
const MAX_MIME_TYPE = 255;
const MIME_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$/;
const ARTIFACT_FIELDS = new Set(['key', 'type', 'mimeType']);

function readArtifact(entry: unknown): Result<Artifact, Sentence> {
  if (!isObject(entry)) return err(sentence('hook.artifact_object'));
  const unknown = Object.keys(entry).find((name) => !ARTIFACT_FIELDS.has(name));
  if (unknown !== undefined) return err(sentence('hook.artifact_field', { name: JSON.stringify(unknown) }));
  const { key, type, mimeType } = entry;
  if (typeof key !== 'string' || !ARTIFACT_KEY.test(key))
    return err(sentence('hook.artifact_key', { name: JSON.stringify(key) }));
  if (!ARTIFACT_TYPES.has(type)) return err(sentence('hook.artifact_kind', { name: key }));
  if (mimeType === undefined || mimeType === null) return ok({ key, type: type as Artifact['type'] });
  if (typeof mimeType !== 'string' || mimeType.length > MAX_MIME_TYPE || /\p{Cc}/u.test(mimeType)) {
    return err(sentence('hook.artifact_type', { name: key }));
  }
  return ok({ key, type: type as Artifact['type'], mimeType });
}

/** Checks the result of listArtifacts: at most 64, with unique keys. */
export function readArtifacts(value: Json | undefined): Result<Artifact[], Sentence> {
  if (!Array.isArray(value)) return err(sentence('hook.no_artifacts'));
  if (value.length > MAX_ARTIFACTS) return err(sentence('hook.artifacts_max', { max: MAX_ARTIFACTS }));
  const artifacts = new Map<string, Artifact>();
  for (const entry of value) {
    const artifact = readArtifact(entry);
    if (!artifact.ok) return artifact;
    if (artifacts.has(artifact.value.key)) return err(sentence('hook.artifact_twice', { name: artifact.value.key }));
    artifacts.set(artifact.value.key, artifact.value);
  }
  return ok([...artifacts.values()]);
}

/** Lists the artifacts of a task. */
export function listArtifacts(
  plugin: LoadedPlugin,
  ctx: ArtifactContext,
  options: HookOptions,
): Promise<Result<Artifact[], HookFailure>> {
  return callHook(plugin, { hook: 'listArtifacts', args: [ctx], options, read: readArtifacts });
}

/** How to get an artifact's bytes: for one request, and never stored, kept or logged. */
export type ContentRequest =
  | { kind: 'data'; mimeType: string; base64: string }
  | {
      kind: 'http';
      url: string;
      method: 'GET' | 'HEAD' | 'POST';
      headers: Record<string, string>;
      /** Sent unchanged. */
      body?: string;
      /**
       * The channel's credential is not sent, and any public host is allowed. Otherwise only the
       * channel's host and `allowedHosts` are.
       */
      credentialless: boolean;
      /** The answer is JSON that contains the file, at its `index`-th text of long Base64. */
      base64?: { index: number; mimeType: string };
      /** Where a redirect may lead as well, without the credential: see `isRedirectHost`. */
      redirectHosts?: readonly string[];
    };

/** The place of a file in a JSON answer. Undefined: the answer is the file. */
function readBase64(value: Json | undefined): Result<{ index: number; mimeType: string } | undefined, Sentence> {
  if (value === undefined || value === null) return ok(undefined);
  const { index, mimeType } = isObject(value) ? value : {};
  if (!Number.isSafeInteger(index) || Number(index) < 0 || Number(index) >= MAX_ARTIFACTS) {
    return err(sentence('hook.base64_index', { max: MAX_ARTIFACTS - 1 }));
  }
  if (typeof mimeType !== 'string' || mimeType.length > MAX_MIME_TYPE || !MIME_TYPE.test(mimeType)) {
    return err(sentence('hook.base64_type'));
  }
  return ok({ index: Number(index), mimeType });
}

function readDataUrl(url: string): Result<ContentRequest, Sentence> {
  if (url.length > MAX_DATA_URL_LENGTH) return err(sentence('hook.data_url_length'));
  const comma = url.indexOf(',');
  const header = DATA_HEADER.exec(url.slice(0, Math.max(comma, 0)));
  const base64 = url.slice(comma + 1);
  const data = base64.replace(/={1,2}$/, '');
  const padded = data.length < base64.length;
  // Decoders skip characters that are not base64, which would give wrong bytes silently.
  const isBase64 = !/[^A-Za-z0-9+/]/.test(data) && data.length % 4 !== 1 && (!padded || base64.length % 4 === 0);
  if (!header || !isBase64) return err(sentence('hook.data_url_base64'));
  return ok({ kind: 'data', mimeType: header[1] || 'video/mp4', base64 });
}

/** Hosts as in `allowedHosts`, or all below a name, which is more than a top-level domain. */
function readRedirectHosts(value: unknown): Result<string[], Sentence> {
  if (value === undefined || value === null) return ok([]);
  if (!Array.isArray(value) || value.length > MAX_REDIRECT_HOSTS)
    return err(sentence('hook.redirect_hosts', { max: MAX_REDIRECT_HOSTS }));
  const hosts: string[] = [];
  for (const entry of value) {
    const written = typeof entry === 'string' ? entry.toLowerCase() : '';
    const name = written.startsWith('*.') ? written.slice(2) : '';
    const isWildcard = isHostname(name) && name.includes('.');
    const host = isWildcard ? ok(written) : normalizeAllowedHost(written);
    if (!host.ok) return err(sentence('hook.redirect_host', { name: JSON.stringify(entry), fault: host.error }));
    hosts.push(host.value);
  }
  return ok(hosts);
}

/**
 * A vendor's address as a browser reads it: without a fragment, line breaks and outer blanks, inner
 * blanks as escapes. What is not an address stays.
 */
function readAsBrowser(text: string): string {
  const url = text.length <= MAX_URL_LENGTH && /[\s\p{Cc}#]/u.test(text) ? URL.parse(text) : null;
  if (!url) return text;
  url.hash = '';
  return url.href;
}

/**
 * Whether a vendor's address leads anywhere. What the rules of this gateway forbid is refused at
 * each download instead, since the rules may change.
 */
export const isAddress = (text: string): boolean => text.length <= MAX_URL_LENGTH && URL.canParse(text);

/** What a content request is checked against. `method` is the default if the plugin names none. */
type ContentRules = { manifest: Pick<Manifest, 'allowedHosts'>; baseUrl: string; method: string };

/** Checks the result of buildContentRequest. */
export function readContentRequest(value: Json | undefined, rules: ContentRules): Result<ContentRequest, Sentence> {
  if (!isObject(value) || typeof value.url !== 'string' || value.url === '')
    return err(sentence('hook.no_content_request'));
  const { body } = value;
  if (/^data:/i.test(value.url)) return readDataUrl(value.url);
  const url = readAsBrowser(value.url);
  const credentialless = value.credentialless === true;
  const checked = checkRequestUrl(rules.manifest, { channelBaseUrl: rules.baseUrl, url, credentialless });
  if (!checked.ok) return checked;
  const allowed = credentialless ? ['GET', 'HEAD'] : ['GET', 'HEAD', 'POST'];
  const method = readMethod(value.method, rules.method, allowed);
  if (!method.ok) return method;
  const headers = readHeaders(value.headers);
  if (!headers.ok) return headers;
  const base64 = readBase64(value.base64);
  if (!base64.ok) return base64;
  const hasBody = body !== undefined && body !== null;
  if (credentialless && (hasBody || Object.keys(headers.value).length > 0)) {
    return err(sentence('hook.credentialless'));
  }
  const redirectHosts = readRedirectHosts(value.redirectHosts);
  if (!redirectHosts.ok) return redirectHosts;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  if (hasBody && Buffer.byteLength(text) > MAX_BODY_BYTES) return err(sentence('hook.body_size', { size: '1 MiB' }));
  return ok({
    kind: 'http',
    url,
    method: method.value as 'GET' | 'HEAD' | 'POST',
    headers: headers.value,
    credentialless,
    ...(redirectHosts.value.length > 0 ? { redirectHosts: redirectHosts.value } : {}),
    ...(hasBody ? { body: text } : {}),
    ...(base64.value ? { base64: base64.value } : {}),
  });
}

/** Builds the request that fetches an artifact. */
export function buildContentRequest(
  plugin: LoadedPlugin,
  ctx: ContentContext,
  options: HookOptions,
): Promise<Result<ContentRequest, HookFailure>> {
  const rules = { manifest: plugin.manifest, baseUrl: ctx.baseUrl, method: ctx.clientRequest.method };
  return callHook(plugin, {
    hook: 'buildContentRequest',
    args: [ctx],
    options,
    read: (value) => readContentRequest(value, rules),
  });
}

/** How long an address is remembered, in seconds, and at most. */
const REMEMBER_SECONDS = 60;
const MAX_REMEMBER_SECONDS = 600;

/**
 * `none`: nothing to resolve, buildContentRequest describes the content. `ask`: the vendor must be
 * asked first. `found`: the content is at this address, for this many seconds.
 */
export type Resolution =
  | { kind: 'none' }
  | { kind: 'ask'; request: PluginRequest }
  | { kind: 'found'; url: string; seconds: number };

/** `answered`: the vendor has been asked; it is asked once. */
type Rules = { manifest: Pick<Manifest, 'allowedHosts'>; baseUrl: string; answered: boolean };

/** Checks the result of resolveArtifact. */
export function readResolution(value: Json | undefined, { answered, ...rules }: Rules): Result<Resolution, Sentence> {
  if (value === undefined || value === null) return ok({ kind: 'none' });
  if (!isObject(value)) return err(sentence('hook.resolution'));
  const { request, url, expiresIn } = value;
  if (request !== undefined && request !== null) {
    if (url !== undefined && url !== null) return err(sentence('hook.resolution_either'));
    if (answered) return err(sentence('hook.resolution_once'));
    const read = readQueryRequest(request as Json, rules);
    return read.ok ? ok({ kind: 'ask', request: read.value }) : read;
  }
  if (typeof url !== 'string') return err(sentence('hook.resolution'));
  const content = readContentRequest({ url, credentialless: true }, { ...rules, method: 'GET' });
  if (!content.ok) return content;
  const given = typeof expiresIn === 'number' && expiresIn > 0 ? Math.floor(expiresIn) : REMEMBER_SECONDS;
  return ok({ kind: 'found', url, seconds: Math.min(given, MAX_REMEMBER_SECONDS) });
}

/** Asks the plugin where an artifact is now; the second time with the vendor's answer in `ctx`. */
export function resolveArtifact(
  plugin: LoadedPlugin,
  { task, key, ctx }: { task: ArtifactContext; key: string; ctx: ResolveContext },
  options: HookOptions,
): Promise<Result<Resolution, HookFailure>> {
  const rules = { manifest: plugin.manifest, baseUrl: ctx.baseUrl, answered: ctx.response !== undefined };
  return callHook(plugin, {
    hook: 'resolveArtifact',
    args: [task, key, ctx],
    options,
    read: (value) => readResolution(value, rules),
  });
}
