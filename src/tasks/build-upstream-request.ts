import { ok, type Result } from '../kernel/index.ts';
import { allowsHost, type LoadedPlugin, type PluginRequest } from '../plugins/index.ts';
import type { ChannelRecord } from '../store/ports/index.ts';
import { canonicalHost, type MultipartPart, type UpstreamBody, type UpstreamRequest } from '../upstream/index.ts';
import { inlineFiles } from './inline-files.ts';
import type { RequestFile } from './types.ts';

/** A vendor that does not accept the connection within this time counts as unreachable. */
export const CONNECT_TIMEOUT_MS = 10_000;
/** A query that has no answer by then counts as a transport error. */
const QUERY_TIMEOUT_MS = 30_000;
/** Bytes of a vendor's JSON answer (hooks that carry bodies take 16 MiB). */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;
/** Redirects of queries and content. */
export const MAX_REDIRECTS = 5;

type Submit = { files: readonly RequestFile[]; maxFileBytes: number; timeoutMs: number };

/** The upstream request of a checked descriptor; an error names what is wrong with a file. `submit` is absent for queries. */
export function buildUpstreamRequest(
  plugin: LoadedPlugin,
  channel: ChannelRecord,
  described: PluginRequest,
  submit?: Submit,
): Result<UpstreamRequest, { message: string }> {
  const body = buildBody(described.body, submit);
  if (!body.ok) return body;
  return ok({
    url: described.url,
    method: described.method,
    headers: described.headers,
    body: body.value,
    privateHosts: [canonicalHost(new URL(channel.baseUrl))],
    // A submission is never redirected: a second request could buy the job twice.
    maxRedirects: submit ? 0 : MAX_REDIRECTS,
    allowRedirect: (url) => allowsHost(plugin.manifest, channel.baseUrl, url),
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    headersTimeoutMs: submit?.timeoutMs ?? QUERY_TIMEOUT_MS,
    idleTimeoutMs: QUERY_TIMEOUT_MS,
    maxResponseBytes: MAX_ANSWER_BYTES,
  });
}

function buildBody(body: PluginRequest['body'], submit: Submit | undefined): Result<UpstreamBody, { message: string }> {
  switch (body.kind) {
    case 'multipart':
      return ok({ kind: 'multipart', parts: body.parts.flatMap((part) => buildPart(part, submit?.files ?? [])) });
    case 'json': {
      if (!submit) return ok({ kind: 'text', text: JSON.stringify(body.value) });
      const inlined = inlineFiles(body.value, submit.files, submit.maxFileBytes);
      if (!inlined.ok) return inlined;
      const [text = '', ...others] = inlined.value;
      return ok(
        others.length === 0 && typeof text === 'string'
          ? { kind: 'text', text }
          : { kind: 'pieces', pieces: inlined.value },
      );
    }
    default:
      return ok(body);
  }
}

type Part = Extract<PluginRequest['body'], { kind: 'multipart' }>['parts'][number];

function buildPart(part: Part, files: readonly RequestFile[]): MultipartPart[] {
  if ('value' in part) return [part];
  const file = files.find(({ ref }) => ref === part.fileRef);
  // The descriptor was checked against these files; a reference to none of them cannot get here.
  if (!file) return [];
  const { name, filename = file.filename } = part;
  return [
    { name, filename, contentType: file.mimeType || 'application/octet-stream', size: file.size, stream: file.stream },
  ];
}
