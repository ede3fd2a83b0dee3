import { err, isObject, type Json, ok, type Result } from '../kernel/index.ts';
import { checkRequestUrl, type LoadedPlugin, type RequestDescriptor } from '../plugins/index.ts';
import type { ChannelRecord } from '../store/ports/index.ts';
import { canonicalHost, type MultipartPart, type UpstreamBody, type UpstreamRequest } from '../upstream/index.ts';
import { inlineFiles } from './inline-files.ts';
import type { RequestFile } from './types.ts';

/** A vendor that does not accept the connection within this time counts as unreachable. */
const CONNECT_TIMEOUT_MS = 10_000;
/** A query that has no answer by then counts as a transport error. */
export const QUERY_TIMEOUT_MS = 30_000;
/** Bytes of a vendor's JSON answer (design section 6: hooks that carry bodies take 16 MiB). */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** Redirects of queries (design 7.8). */
const MAX_QUERY_REDIRECTS = 5;

type Purpose =
  | { kind: 'submit'; files: readonly RequestFile[]; maxFileBytes: number; timeoutMs: number }
  | { kind: 'query' };

/** Turns a plugin's descriptor into a request that the rules allow; an error names the rule that it breaks. */
export async function buildUpstreamRequest(
  plugin: LoadedPlugin,
  channel: ChannelRecord,
  descriptor: RequestDescriptor,
  purpose: Purpose,
): Promise<Result<UpstreamRequest, { message: string }>> {
  const checked = checkRequestUrl(plugin.manifest, channel.baseUrl, descriptor.url, false);
  if (!checked.ok) return checked;
  const body = await buildBody(descriptor, purpose);
  if (!body.ok) return body;
  const submit = purpose.kind === 'submit';
  const baseHost = canonicalHost(new URL(channel.baseUrl));
  return ok({
    url: checked.value.href,
    method: (descriptor.method || (submit ? 'POST' : 'GET')).trim().toUpperCase(),
    headers: descriptor.headers,
    body: body.value,
    privateHosts: [baseHost],
    // A submission is never redirected: a second request could buy the job twice.
    maxRedirects: submit ? 0 : MAX_QUERY_REDIRECTS,
    allowRedirect: (url) => checkRequestUrl(plugin.manifest, channel.baseUrl, url.href, false).ok,
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    headersTimeoutMs: submit ? purpose.timeoutMs : QUERY_TIMEOUT_MS,
    idleTimeoutMs: QUERY_TIMEOUT_MS,
    maxResponseBytes: MAX_ANSWER_BYTES,
  });
}

async function buildBody(
  descriptor: RequestDescriptor,
  purpose: Purpose,
): Promise<Result<UpstreamBody, { message: string }>> {
  const files = purpose.kind === 'submit' ? purpose.files : [];
  if (descriptor.bodyType === 'multipart') {
    const parts: MultipartPart[] = [];
    for (const part of descriptor.parts ?? []) {
      if (part.fileRef === undefined) {
        parts.push({ name: part.name, value: asText(part.value) });
        continue;
      }
      const file = files.find((candidate) => candidate.ref === part.fileRef);
      if (!file) return err({ message: `unknown file reference "${part.fileRef}"` });
      parts.push({
        name: part.name,
        filename: part.filename ?? file.filename,
        contentType: file.mimeType || 'application/octet-stream',
        size: file.size,
        stream: file.stream,
      });
    }
    return ok({ kind: 'multipart', parts });
  }
  const { body } = descriptor;
  if (body === undefined || body === null) return ok({ kind: 'none' });
  if (typeof body === 'string') return ok({ kind: 'text', text: body });
  if (purpose.kind !== 'submit') return ok({ kind: 'text', text: JSON.stringify(body) });
  const inlined = await inlineFiles(body, files, purpose.maxFileBytes);
  return inlined.ok ? ok({ kind: 'text', text: JSON.stringify(inlined.value) }) : inlined;
}

const asText = (value: Json | undefined): string =>
  typeof value === 'string'
    ? value
    : isObject(value) || Array.isArray(value)
      ? JSON.stringify(value)
      : String(value ?? '');
