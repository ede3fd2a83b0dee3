import { SaxesParser } from 'saxes';
import { type Clock, err, jitter, type Result, sentence, sha256Hex } from '../../../kernel/index.ts';
import { canonicalQuery, presignUrl, type SigningKey, signHeaders } from './sign-request.ts';
import type {
  BucketAnswer,
  BucketCredentials,
  BucketFault,
  BucketLocation,
  BucketRequest,
  SendToBucket,
} from './types.ts';

const ATTEMPTS = 4;
const FIRST_PAUSE_MS = 250;
/** Sending one part may take this long: 64 MiB at 1 Mbit/s. */
const SENDING_MS = 600_000;
/** A page of a list has 1000 keys of at most 1 KB. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

export type Bucket = {
  /** Sends a request until it is answered with success, or not to be repeated. */
  call(request: BucketRequest): Promise<Result<BucketAnswer, BucketFault>>;
  /** A link that reads the object for this long. */
  presign(key: string, link: { query: Record<string, string>; seconds: number }): string;
  /** Before each key: the prefix and its slash, or nothing. */
  keyPrefix: string;
};

type BucketDeps = { location: BucketLocation; credentials: BucketCredentials; send: SendToBucket; clock: Clock };

/** Signed requests to one bucket. Faults are values; only an aborted `signal` rejects. */
export function openBucket({ location, credentials, send, clock }: BucketDeps): Bucket {
  const base = bucketUrl(location);
  const keyPrefix = location.prefix === '' ? '' : `${location.prefix}/`;
  const signingKey: SigningKey = { ...credentials, region: location.region };
  const toAddress = (key: string | undefined): string =>
    key === undefined ? `${base}${location.pathStyle ? '' : '/'}` : `${base}/${keyPrefix}${key}`;

  async function sendOnce(request: BucketRequest): Promise<Result<BucketAnswer, BucketFault>> {
    const { method, key, query = {}, headers = {}, body } = request;
    const search = canonicalQuery(query);
    const url = new URL(search === '' ? toAddress(key) : `${toAddress(key)}?${search}`);
    const bodySha256 = typeof body === 'object' ? body.sha256 : sha256Hex(body ?? '');
    const signal = typeof body === 'object' ? withTimeLimit(request.signal) : request.signal;
    const sent = await send({
      url: url.href,
      method,
      headers: signHeaders(signingKey, { method, url, headers, bodySha256 }, clock.nowMs()),
      body: toSentBody(body),
      maxResponseBytes: method === 'GET' && key !== undefined ? Number.POSITIVE_INFINITY : MAX_ANSWER_BYTES,
      ...(signal ? { signal } : {}),
    });
    request.signal?.throwIfAborted();
    if (!sent.ok) return err(noAnswer(sent.error.kind));
    const { status } = sent.value;
    if (isPage(request, sent.value)) {
      sent.value.discard();
      return err(webPage(status));
    }
    if (status >= 200 && status < 300) return sent;
    return err(refusal(status, await readCode(sent.value)));
  }

  return {
    keyPrefix,

    async call(request) {
      for (let attempt = 1; ; attempt += 1) {
        const answered = await sendOnce(request);
        if (answered.ok || attempt >= (request.attempts ?? ATTEMPTS) || !isRepeatable(answered.error)) return answered;
        await clock.sleep(jitter(FIRST_PAUSE_MS * 2 ** (attempt - 1), 0.3), request.signal);
        request.signal?.throwIfAborted();
      }
    },

    presign: (key, { query, seconds }) =>
      presignUrl(signingKey, { url: toAddress(key), query, seconds }, clock.nowMs()),
  };
}

/** Where the bucket's keys begin, without a slash at the end. */
export function bucketUrl({ endpoint, bucket, pathStyle }: BucketLocation): string {
  const { protocol, host } = new URL(endpoint);
  return pathStyle ? `${protocol}//${host}/${bucket}` : `${protocol}//${bucket}.${host}`;
}

function withTimeLimit(signal: AbortSignal | undefined): AbortSignal {
  const limit = AbortSignal.timeout(SENDING_MS);
  return signal ? AbortSignal.any([signal, limit]) : limit;
}

function toSentBody(body: BucketRequest['body']): Parameters<SendToBucket>[0]['body'] {
  if (body === undefined) return { kind: 'none' };
  return typeof body === 'string' ? { kind: 'text', text: body } : { kind: 'pieces', pieces: [body] };
}

async function readCode(answer: BucketAnswer): Promise<string> {
  const length = Number(answer.headers['content-length']?.[0] ?? 0);
  if (length > MAX_ANSWER_BYTES) {
    answer.discard();
    return '';
  }
  const text = await answer.text();
  return text.ok ? errorCode(readXml(text.value)) : '';
}

/**
 * A page for people, where S3 answers in XML or not at all: of a console, of a sign-in before it,
 * of another server. An object may be a page itself, and a proxy answers with one when S3 is
 * unavailable.
 */
function isPage({ method, key }: BucketRequest, { status, headers }: BucketAnswer): boolean {
  const isObject = key !== undefined && (method === 'GET' || method === 'HEAD') && status < 300;
  return !isObject && status < 500 && /^text\/html\b/i.test(headers['content-type']?.[0] ?? '');
}

const webPage = (status: number): BucketFault => ({
  kind: 'unavailable',
  ...sentence('place.bucket_page', { code: status }),
  status,
  code: 'text/html',
});

const noAnswer = (reason: string): BucketFault => ({
  kind: 'unavailable',
  ...sentence('place.bucket_silent', { code: reason }),
  status: 0,
  code: reason,
});

/** Names that servers give to a full disk or a quota; Ceph, MinIO, Backblaze and others differ. */
const FULL = /quota|storagefull|storagecap|insufficientstorage|diskfull/i;

export function refusal(status: number, code: string): BucketFault {
  const shown = [String(status), code].filter((part) => part !== '').join(' ');
  const facts = { status, code };
  if (status === 507 || FULL.test(code))
    return { kind: 'full', ...sentence('place.bucket_full', { code: shown }), ...facts };
  if (code === 'EntityTooLarge') {
    return { kind: 'too_large', ...sentence('place.bucket_size', { code: shown }), ...facts };
  }
  const reason = status >= 500 || status === 429 ? 'place.bucket_away' : 'place.bucket_refuses';
  return { kind: 'unavailable', ...sentence(reason, { code: shown }), ...facts };
}

function isRepeatable({ kind, status, code }: BucketFault): boolean {
  if (kind !== 'unavailable') return false;
  // Without an answer; what our own rules refuse stays refused.
  if (status === 0) return code !== 'refused';
  return (status >= 500 && status !== 501) || status === 429 || status === 408 || code === 'RequestTimeout';
}

/** Makes the error of the room's catalogue for what is stored there, of a reason in words. */
type Refuse = (reason: string) => Error;

/** The answer; a fault is thrown as `refuse` makes it. */
export function expectAnswer(answered: Result<BucketAnswer, BucketFault>, refuse: Refuse): BucketAnswer {
  if (answered.ok) return answered.value;
  throw refuse(answered.error.message);
}

/** One page of a list. */
export async function readList(bucket: Bucket, query: Record<string, string>, refuse: Refuse): Promise<XmlElement> {
  const text = await expectAnswer(await bucket.call({ method: 'GET', query }), refuse).text();
  const page = text.ok ? readXml(text.value) : undefined;
  if (!page || page.name === 'Error') throw refuse('the bucket returned an invalid file list');
  return page;
}

/** An element of an answer in XML; namespaces and attributes mean nothing there. */
export type XmlElement = { name: string; text: string; children: XmlElement[] };

/** Answers of S3 have four levels. */
const MAX_DEPTH = 16;

/** The outermost element; undefined when it is not well-formed XML. */
export function readXml(text: string): XmlElement | undefined {
  const root: XmlElement = { name: '', text: '', children: [] };
  const open = [root];
  const parser = new SaxesParser();
  const refuse = (): never => {
    throw new Error('not an answer of S3');
  };
  parser.on('error', refuse);
  parser.on('doctype', refuse);
  parser.on('opentag', ({ name }) => {
    const element: XmlElement = { name, text: '', children: [] };
    if (open.length > MAX_DEPTH) refuse();
    open.at(-1)?.children.push(element);
    open.push(element);
  });
  parser.on('closetag', () => open.pop());
  parser.on('text', (data) => {
    const element = open.at(-1);
    if (element) element.text += data;
  });
  try {
    parser.write(text).close();
    return root.children[0];
  } catch {
    return undefined;
  }
}

export const findChildren = (element: XmlElement | undefined, name: string): XmlElement[] =>
  element?.children.filter((child) => child.name === name) ?? [];

/** The text of the first child of that name; empty without one. */
export const readText = (element: XmlElement | undefined, name: string): string =>
  findChildren(element, name)[0]?.text.trim() ?? '';

/** The server's name for an error; empty when the text is not an error of S3. */
export function errorCode(element: XmlElement | undefined): string {
  if (element?.name !== 'Error') return '';
  const code = readText(element, 'Code');
  // It is shown and logged.
  return /^[A-Za-z0-9.]{1,64}$/.test(code) ? code : 'Unknown';
}
