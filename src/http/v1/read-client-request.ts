import { createHash } from 'node:crypto';
import { isObject, type JsonObject, sha256Hex } from '../../kernel/index.ts';
import type { ClientRequest } from '../../tasks/index.ts';
import { httpErrors } from '../errors.ts';
import { BODY_CAPS, isJsonType, mediaType, parseJsonBody, readBody, streamBody } from '../read-body.ts';
import { addValue, type FormLimits, readUrlencoded } from './collect-form.ts';
import { readMultipart } from './read-multipart.ts';

/** A multipart body may be so many times as large as its largest file. */
const MAX_FILES_TOTAL = 4;
/** Room for the fields and the framing around the files. */
const MULTIPART_OVERHEAD = 1024 * 1024;

type TakenBody = Pick<ClientRequest, 'body' | 'bodySha256' | 'release'>;

/**
 * The request as the task engine takes it, with its body read under the cap of its kind. Its files stay until `release`, which whoever called
 * this calls in the end, whatever came of the request.
 * @throws http.too_large, http.unsupported_media, http.bad_json, http.bad_body, http.body_too_slow, http.upload_storage, http.uploads_limited
 */
export async function readClientRequest(
  request: Request,
  params: Record<string, string>,
  limits: FormLimits,
): Promise<ClientRequest> {
  return {
    ...readAddress(request),
    params,
    contentType: request.headers.get('content-type') ?? '',
    accept: request.headers.get('accept') ?? '',
    idempotencyKey: request.headers.get('idempotency-key'),
    callbackUrl: request.headers.get('x-callback-url'),
    signal: request.signal,
    ...(await takeBody(request, limits)),
  };
}

/** What is asked for: the path percent-encoded as it came, each query value by its name. */
export function readAddress({ method, url }: Request): Pick<ClientRequest, 'method' | 'path' | 'query'> {
  const { pathname, searchParams } = new URL(url);
  const query = new Map<string, string[]>();
  for (const [name, value] of searchParams) addValue(query, name, value);
  return { method, path: pathname, query: Object.fromEntries(query) };
}

async function takeBody(request: Request, limits: FormLimits): Promise<TakenBody> {
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
    const bytes = await readBody(request, BODY_CAPS.json);
    return inMemory({ kind: 'json', value: parseJsonBody(bytes) }, bytes);
  }
  if (type === 'application/x-www-form-urlencoded') {
    const bytes = await readBody(request, BODY_CAPS.json);
    return inMemory({ kind: 'form', fields: readUrlencoded(bytes) }, bytes);
  }
  if (type === 'multipart/form-data') {
    const hash = createHash('sha256');
    const body = hashing(streamBody(request, MAX_FILES_TOTAL * limits.maxFileBytes + MULTIPART_OVERHEAD), hash);
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
    // Up to a mebibyte each: given back at once, since the garbage collector lets dozens of them pile up.
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
