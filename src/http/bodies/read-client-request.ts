import { createHash } from 'node:crypto';
import { isObject, type JsonObject, type JsonScanner, sha256Hex } from '../../kernel/index.ts';
import type { ClientRequest } from '../../tasks/index.ts';
import { httpErrors } from '../errors.ts';
import { BODY_LIMITS, type BodyLimit, beyondLimit, multipartBytes } from './body-limits.ts';
import { addValue, type FormLimits, readUrlencoded } from './collect-form.ts';
import { isJsonType, mediaType, readBody, streamBody } from './read-body.ts';
import { readJsonBody } from './read-json.ts';
import { readMultipart } from './read-multipart.ts';

type TakenBody = Pick<ClientRequest, 'body' | 'bodySha256' | 'release'> & { counts?: JsonScanner['counts'] };

const { submission: SUBMISSION, relay: RELAY } = BODY_LIMITS;

/**
 * The request as the task engine takes it, with its body read under the cap of its kind. Its files
 * stay until `release`, which whoever called this calls in the end, whatever came of the request.
 * @throws http.too_large, http.unsupported_media, http.bad_json, http.bad_body, http.body_too_slow,
 * http.upload_storage, http.uploads_limited
 */
export async function readClientRequest(
  request: Request,
  params: Record<string, string>,
  limits: FormLimits,
): Promise<ClientRequest> {
  const { counts: _, ...body } = await takeBody(request, limits, SUBMISSION);
  return { ...describeRequest(request, params), ...body };
}

/**
 * The same where the relay may take the request, which has wider bounds. `assertForPlugin` throws
 * where the body is too large for a plugin.
 */
export async function readRelayableRequest(
  request: Request,
  limits: FormLimits,
): Promise<{ client: ClientRequest; assertForPlugin: () => void }> {
  const { counts, ...body } = await takeBody(request, limits, RELAY);
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
): Omit<ClientRequest, 'body' | 'bodySha256' | 'release'> => ({
  ...readAddress(request),
  params,
  contentType: request.headers.get('content-type') ?? '',
  accept: request.headers.get('accept') ?? '',
  idempotencyKey: request.headers.get('idempotency-key'),
  callbackUrl: request.headers.get('x-callback-url'),
  signal: request.signal,
});

/** What is asked for: the path percent-encoded as it came, each query value by its name. */
export function readAddress({ method, url }: Request): Pick<ClientRequest, 'method' | 'path' | 'query'> {
  const { pathname, searchParams } = new URL(url);
  const query = new Map<string, string[]>();
  for (const [name, value] of searchParams) addValue(query, name, value);
  return { method, path: pathname, query: Object.fromEntries(query) };
}

async function takeBody(request: Request, limits: FormLimits, limit: BodyLimit): Promise<TakenBody> {
  const type = mediaType(request.headers);
  if (
    type === '' ||
    request.headers.get('content-length') === '0' ||
    request.method === 'GET' ||
    request.method === 'HEAD'
  ) {
    return inMemory({ kind: 'none' }, new Uint8Array());
  }
  if (isJsonType(type)) {
    const { value, extracted, sha256, counts, release } = await readJsonBody(request, limit, limits);
    return { body: { kind: 'json', value, ...(extracted ? { extracted } : {}) }, bodySha256: sha256, counts, release };
  }
  if (type === 'application/x-www-form-urlencoded') {
    const bytes = await readBody(request, SUBMISSION.maxBytes);
    return inMemory({ kind: 'form', fields: readUrlencoded(bytes) }, bytes);
  }
  if (type === 'multipart/form-data') {
    const hash = createHash('sha256');
    const body = hashing(streamBody(request, multipartBytes(limits.maxFileBytes)), hash);
    const { fields, files, release } = await readMultipart(body, request.headers.get('content-type') ?? '', limits);
    return { body: { kind: 'multipart', fields, files }, bodySha256: hash.digest('hex'), release };
  }
  throw httpErrors.unsupported_media({
    message: `The content type ${type.slice(0, 100)} is not taken here: send JSON, a form or multipart/form-data.`,
  });
}

const inMemory = (body: TakenBody['body'], bytes: Uint8Array): TakenBody => ({
  body,
  bodySha256: sha256Hex(bytes),
  release: async () => {},
});

/** The chunks, hashed on their way; each is good until the next is asked for. */
async function* hashing(
  chunks: AsyncIterable<Uint8Array>,
  hash: { update(bytes: Uint8Array): unknown },
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
    // Up to a mebibyte each: given back at once, since the garbage collector lets dozens of them
    // pile up.
    if (chunk.buffer instanceof ArrayBuffer && chunk.buffer.byteLength === chunk.byteLength) chunk.buffer.transfer(0);
  }
}

/** The model that a request names, for the key's own limits; empty where it names none. */
export function requestedModel(request: ClientRequest): string {
  const { body } = request;
  if (body.kind === 'none') return '';
  if (body.kind !== 'json') return body.fields.model?.[0] ?? '';
  const model = isObject(body.value) ? (body.value as JsonObject).model : undefined;
  return typeof model === 'string' ? model : '';
}
