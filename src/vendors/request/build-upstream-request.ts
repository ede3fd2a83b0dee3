import type { ExtractedFiles, RequestFile } from '../../files/index.ts';
import { err, ok, type Result, type Sentence, sentence } from '../../kernel/index.ts';
import { allowsHost, type LoadedPlugin, type PluginRequest } from '../../plugins/index.ts';
import type { ChannelRecord } from '../../store/ports/index.ts';
import { type MultipartPart, readBaseAddress, type UpstreamBody, type UpstreamRequest } from '../../upstream/index.ts';
import { MAX_ANSWER_BYTES } from '../answer/read-vendor-answer.ts';
import { inlineFiles } from './inline-files.ts';
import { hasFileToken, restoreFiles } from './restore-files.ts';

/** A vendor that does not accept a connection within this time is unreachable. */
export const CONNECT_TIMEOUT_MS = 10_000;
/** A query without an answer within this time is a transport error. */
const QUERY_TIMEOUT_MS = 30_000;
/** Largest number of redirects of queries and content. */
export const MAX_REDIRECTS = 5;

type Submit = {
  files: readonly RequestFile[];
  extracted?: ExtractedFiles | undefined;
  maxFileBytes: number;
  timeoutMs: number;
  /** The vendor may answer with a stream of events, which is read event by event. */
  isStream: boolean;
};

/**
 * `described`: the plugin's checked descriptor. `submit`: for submissions only, not for queries.
 */
type Described = { channel: ChannelRecord; described: PluginRequest; submit?: Submit };

/** The host of a channel's own address, which may be a private one. */
export function vendorHosts({ baseUrl }: Pick<ChannelRecord, 'baseUrl'>): string[] {
  const base = readBaseAddress(baseUrl);
  return base ? [base.host] : [];
}

/** Builds the upstream request that a plugin described. An error says what is wrong with a file. */
export function buildUpstreamRequest(
  plugin: LoadedPlugin,
  { channel, described, submit }: Described,
): Result<UpstreamRequest, Sentence> {
  if (hasFileToken([described.url, ...Object.values(described.headers)], submit?.extracted)) {
    return err(sentence('tasks.file_place'));
  }
  const body = buildBody(described, submit);
  if (!body.ok) return body;
  return ok({
    url: described.url,
    method: described.method,
    headers: described.headers,
    body: body.value,
    privateHosts: vendorHosts(channel),
    isKnownHost: (url) => allowsHost(plugin.manifest, channel.baseUrl, url),
    // Submissions follow no redirect and are not repeated, whatever their method is: a second
    // request could buy the job twice.
    maxRedirects: submit ? 0 : MAX_REDIRECTS,
    mayRepeat: submit === undefined,
    allowRedirect: (url) => allowsHost(plugin.manifest, channel.baseUrl, url),
    connectTimeoutMs: CONNECT_TIMEOUT_MS,
    headersTimeoutMs: submit?.timeoutMs ?? QUERY_TIMEOUT_MS,
    idleTimeoutMs: QUERY_TIMEOUT_MS,
    maxResponseBytes: submit?.isStream ? Number.POSITIVE_INFINITY : MAX_ANSWER_BYTES,
  });
}

type Built = Result<UpstreamBody, Sentence>;

function buildBody({ body, headers }: PluginRequest, submit: Submit | undefined): Built {
  if (body.kind === 'none') return ok(body);
  if (body.kind === 'multipart') return buildParts(body.parts, submit);
  if (!submit) return ok(body.kind === 'text' ? body : { kind: 'text', text: JSON.stringify(body.value) });
  const { files, extracted, maxFileBytes: maxBytes } = submit;
  if (body.kind === 'text' && hasFileToken([body.text], extracted)) {
    const conflict = findFileConflict(headers);
    if (conflict) return err(conflict);
  }
  const inlined = body.kind === 'text' ? ok([body.text]) : inlineFiles(body.value, files, maxBytes);
  if (!inlined.ok) return inlined;
  const restored = restoreFiles(inlined.value, { extracted, maxBytes, inJson: true });
  if (!restored.ok) return restored;
  const [text = '', ...others] = restored.value;
  return ok(
    others.length === 0 && typeof text === 'string'
      ? { kind: 'text', text }
      : { kind: 'pieces', pieces: restored.value },
  );
}

/** Why a text body with these headers cannot contain files; undefined when it can. */
function findFileConflict(headers: Record<string, string>): Sentence | undefined {
  const names = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value.toLowerCase()]));
  if (names.get('content-type')?.startsWith('application/x-www-form-urlencoded')) {
    return sentence('tasks.file_urlencoded');
  }
  // The plugin signed the text with tokens in it, so the vendor would refuse the body it gets.
  return names.has('x-content-sha256') ? sentence('tasks.files_signed') : undefined;
}

type Part = Extract<PluginRequest['body'], { kind: 'multipart' }>['parts'][number];

function buildParts(parts: readonly Part[], submit: Submit | undefined): Built {
  const built: MultipartPart[] = [];
  for (const part of parts) {
    if (!('value' in part)) {
      built.push(...buildFile(part, submit?.files ?? []));
      continue;
    }
    const { name, value } = part;
    if (!submit?.extracted || !hasFileToken([value], submit.extracted)) {
      built.push(part);
      continue;
    }
    const { extracted, maxFileBytes: maxBytes } = submit;
    const restored = restoreFiles([value], { extracted, maxBytes, inJson: false });
    if (!restored.ok) return restored;
    built.push({ name, pieces: restored.value });
  }
  return ok({ kind: 'multipart', parts: built });
}

function buildFile(part: Exclude<Part, { value: string }>, files: readonly RequestFile[]): MultipartPart[] {
  const file = files.find(({ ref }) => ref === part.fileRef);
  // Cannot happen: the descriptor's file references were already checked.
  if (!file) return [];
  const { name, filename = file.filename } = part;
  return [
    { name, filename, contentType: file.mimeType || 'application/octet-stream', size: file.size, stream: file.stream },
  ];
}
