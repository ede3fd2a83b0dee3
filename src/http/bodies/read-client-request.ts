import { createHash } from 'node:crypto';
import { isJsonType, type JsonScanner, sentence, sha256Hex } from '../../kernel/index.ts';
import { type ClientRequest, digestJson } from '../../tasks/index.ts';
import { httpErrors } from '../responses/errors.ts';
import { BODY_LIMITS, type BodyLimit, beyondLimit, multipartBytes } from './body-limits.ts';
import { mediaType, readBody, streamBody } from './read-body.ts';
import { addValue, readMultipart, readUrlencoded } from './read-form.ts';
import { readJsonBody } from './read-json.ts';
import type { FileStorage } from './upload-folder.ts';

type ReadBody = Pick<ClientRequest, 'body' | 'digests' | 'release'> & { counts?: JsonScanner['counts'] };

const { submission: SUBMISSION, relay: RELAY } = BODY_LIMITS;

/**
 * Reads the request for the task engine, with its body under the limit of its kind. The caller must
 * call `release` in the end, whatever the outcome; the files stay until then.
 * @throws http.too_large, http.unsupported_media, http.bad_json, http.bad_body, http.body_too_slow,
 * http.upload_storage, http.uploads_limited
 */
export async function readClientRequest(
  request: Request,
  params: Record<string, string>,
  storage: FileStorage,
): Promise<ClientRequest> {
  const { counts: _, ...body } = await readLimitedBody(request, storage, SUBMISSION);
  return { ...describeRequest(request, params), ...body };
}

/**
 * Does the same under the wider limits of the relay, for a request that the relay may forward.
 * `assertForPlugin` throws if the body is too large for a plugin.
 */
export async function readRelayableRequest(
  request: Request,
  storage: FileStorage,
): Promise<{ client: ClientRequest; assertForPlugin: () => void }> {
  const { counts, ...body } = await readLimitedBody(request, storage, RELAY);
  return {
    client: { ...describeRequest(request, {}), ...body },
    assertForPlugin() {
      if (!counts) return;
      if (counts.values > SUBMISSION.maxValues) throw beyondLimit('maxValues', SUBMISSION);
      if (counts.depth > SUBMISSION.maxDepth) throw beyondLimit('maxDepth', SUBMISSION);
      if (counts.bytes > SUBMISSION.maxBytes) throw beyondLimit('maxBytes', SUBMISSION);
    },
  };
}

const describeRequest = (
  request: Request,
  params: Record<string, string>,
): Omit<ClientRequest, 'body' | 'digests' | 'release'> => ({
  ...readAddress(request),
  params,
  contentType: request.headers.get('content-type') ?? '',
  accept: request.headers.get('accept') ?? '',
  idempotencyKey: request.headers.get('idempotency-key'),
  callbackUrl: request.headers.get('x-callback-url'),
  keepResult: request.headers.get('x-keep-result'),
  allowFallback: request.headers.get('x-allow-fallback'),
  signal: request.signal,
});

/** The rest of its time is for the way of the answer, and for files that are fetched for it. */
const ANSWER_SHARE = 0.9;
/** What has no answer then, has none in time. */
const LATEST_SHARE = 0.95;
const LONGEST_TIMEOUT_MS = 86_400_000;
/** In seconds. SDKs for JavaScript count from the request's head, those for Python from its end. */
const TIMEOUT_HEADERS = { sent: 'x-stainless-timeout', read: 'x-stainless-read-timeout' } as const;

/**
 * When a client that says its timeout must have its answer, on the monotonic clock. SDKs that give
 * up send their request again. `arrivedMs`: when its head arrived; `readMs`: when it was whole.
 */
export function readAnswerTimes(
  { headers }: Pick<Request, 'headers'>,
  { arrivedMs, readMs }: { arrivedMs: number; readMs: number },
): { answerByMs: number; latestMs: number } | undefined {
  const [sent, read] = [headers.get(TIMEOUT_HEADERS.sent), headers.get(TIMEOUT_HEADERS.read)];
  const beganMs = sent === null ? readMs : arrivedMs;
  const timeoutMs = Math.min(Number.parseFloat(sent ?? read ?? '') * 1000, LONGEST_TIMEOUT_MS);
  if (!(timeoutMs > 0)) return undefined;
  return { answerByMs: beganMs + timeoutMs * ANSWER_SHARE, latestMs: beganMs + timeoutMs * LATEST_SHARE };
}

/** The method, the path with its percent escapes as sent, and the query values by name. */
export function readAddress({ method, url }: Request): Pick<ClientRequest, 'method' | 'path' | 'query'> {
  const { pathname, searchParams } = new URL(url);
  const query = new Map<string, string[]>();
  for (const [name, value] of searchParams) addValue(query, name, value);
  return { method, path: pathname, query: Object.fromEntries(query) };
}

async function readLimitedBody(request: Request, storage: FileStorage, limit: BodyLimit): Promise<ReadBody> {
  const type = mediaType(request.headers);
  const isRepeatable = request.headers.has('idempotency-key');
  if (
    type === '' ||
    request.headers.get('content-length') === '0' ||
    request.method === 'GET' ||
    request.method === 'HEAD'
  ) {
    return inMemory({ kind: 'none' }, isRepeatable ? { raw: sha256Hex(''), meaning: '' } : undefined);
  }
  if (isJsonType(type)) {
    const { value, text, extracted, digests, counts, release } = await readJsonBody(request, limit, storage);
    const asSent = limit === RELAY ? { text } : {};
    return { body: { kind: 'json', value, ...asSent, ...(extracted ? { extracted } : {}) }, digests, counts, release };
  }
  if (type === 'application/x-www-form-urlencoded') {
    const bytes = await readBody(request, SUBMISSION.maxBytes);
    const fields = readUrlencoded(bytes);
    const digests = isRepeatable
      ? { raw: sha256Hex(bytes), meaning: await digestJson(JSON.stringify(fields)) }
      : undefined;
    return inMemory({ kind: 'form', fields }, digests);
  }
  if (type === 'multipart/form-data') {
    const hash = isRepeatable ? createHash('sha256') : undefined;
    const body = hashChunks(streamBody(request, multipartBytes(storage.maxFileBytes)), hash);
    const contentType = request.headers.get('content-type') ?? '';
    const { fields, files, digest, release } = await readMultipart(body, contentType, {
      ...storage,
      digest: isRepeatable,
    });
    const digests = hash && digest !== undefined ? { raw: hash.digest('hex'), meaning: digest } : undefined;
    return { body: { kind: 'multipart', fields, files }, digests, release };
  }
  throw httpErrors.unsupported_media({
    message: sentence('http.type_unknown', { type: type.slice(0, 100) }),
  });
}

const inMemory = (body: ReadBody['body'], digests: ReadBody['digests']): ReadBody => ({
  body,
  digests,
  release: async () => {},
});

/**
 * Passes chunks on and hashes them, if a hash is wanted. A chunk is valid until the next one is
 * requested.
 */
async function* hashChunks(
  chunks: AsyncIterable<Uint8Array>,
  hash: { update(bytes: Uint8Array): unknown } | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of chunks) {
    hash?.update(chunk);
    yield chunk;
    // A chunk is up to 1 MiB. Free it now: the garbage collector lets dozens of them pile up.
    if (chunk.buffer instanceof ArrayBuffer && chunk.buffer.byteLength === chunk.byteLength) chunk.buffer.transfer(0);
  }
}
