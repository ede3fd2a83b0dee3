import type { ArtifactContext, ResolveContext } from '../../../contracts/v1.d.ts';
import { err, isObject, type Json, ok, type Result } from '../../kernel/index.ts';
import type { HookFailure, LoadedPlugin, Manifest } from '../types.ts';
import { type PluginRequest, readQueryRequest } from './build-requests.ts';
import { callHook, type HookOptions } from './call-hook.ts';
import { readContentRequest } from './serve-artifacts.ts';

/** How long an address is remembered, in seconds, and at most. */
const REMEMBER_SECONDS = 60;
const MAX_REMEMBER_SECONDS = 600;

/**
 * `none`: nothing to resolve, buildContentRequest describes the content. `ask`: the vendor must be
 * asked first. `found`: the content is at this address, for so many seconds.
 */
export type Resolution =
  | { kind: 'none' }
  | { kind: 'ask'; request: PluginRequest }
  | { kind: 'found'; url: string; seconds: number };

/** `answered`: the vendor has been asked; it is asked once. */
type Rules = { manifest: Pick<Manifest, 'allowedHosts'>; baseUrl: string; answered: boolean };

/** Checks the result of resolveArtifact. */
export function readResolution(value: Json | undefined, { answered, ...rules }: Rules): Result<Resolution, string> {
  if (value === undefined || value === null) return ok({ kind: 'none' });
  if (!isObject(value)) return err('resolveArtifact must return { request }, { url } or null');
  const { request, url, expiresIn } = value;
  if (request !== undefined && request !== null) {
    if (url !== undefined) return err('resolveArtifact must return either a request or a url');
    if (answered) return err('resolveArtifact asks for a second request; the vendor is asked once');
    const read = readQueryRequest(request as Json, rules);
    return read.ok ? ok({ kind: 'ask', request: read.value }) : read;
  }
  if (typeof url !== 'string') return err('resolveArtifact must return { request }, { url } or null');
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
