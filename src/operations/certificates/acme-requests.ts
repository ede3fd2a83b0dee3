import { createHash, createPublicKey, type KeyObject, sign } from 'node:crypto';
import { isObject, type Json, type JsonObject, parseJson, removeHiddenCharacters } from '../../kernel/index.ts';
import type { Upstream, UpstreamBody, UpstreamResponse } from '../../upstream/index.ts';

/** A chain of certificates takes some 10 KiB. */
const MAX_ANSWER_BYTES = 512 * 1024;
const CONNECT_MS = 10_000;
const ANSWER_MS = 30_000;
/** An authority may refuse a nonce at any time; the refusal brings a new one (RFC 8555, 6.5). */
const NONCE_TRIES = 5;
const REASON_CHARS = 300;

export type AcmeAnswer = { status: number; location: string; retryAfterSeconds: number; text: string };

export type AcmeRequests = {
  get(url: string): Promise<JsonObject>;
  /** Signed; without `payload` a read (POST-as-GET). @throws what the authority says, in words */
  post(url: string, payload?: JsonObject): Promise<AcmeAnswer>;
  /** The signed requests that follow name the account instead of its key. */
  useAccount(url: string): void;
  /** What proves that the owner of the account controls a name (RFC 8555, 8.1). */
  keyAuthorization(token: string): string;
};

type Options = { upstream: Upstream; directoryUrl: string; accountKey: KeyObject; signal: AbortSignal };

/** Requests to one authority, signed with the account's key (ES256). */
export function createAcmeRequests({ upstream, directoryUrl, accountKey, signal }: Options): AcmeRequests {
  const { crv, kty, x, y } = createPublicKey(accountKey).export({ format: 'jwk' });
  const jwk = { crv, kty, x, y } as JsonObject;
  // The members in the order of the alphabet (RFC 7638).
  const thumbprint = createHash('sha256').update(JSON.stringify(jwk)).digest('base64url');
  // The administrator named the authority; it may be in a private network. Nothing else may be.
  const privateHosts = [new URL(directoryUrl).host.toLowerCase()];
  let nonce: string | undefined;
  let newNonce: string | undefined;
  let account: string | undefined;

  async function send(
    method: string,
    url: string,
    body: UpstreamBody,
  ): Promise<{ response: UpstreamResponse; text: string }> {
    if (!url.startsWith('https://')) throw new Error('the authority named an address without https');
    const type: Record<string, string> = body.kind === 'none' ? {} : { 'content-type': 'application/jose+json' };
    const sent = await upstream.request({
      ...{ url, method, body, privateHosts, signal, maxRedirects: 0, mayRepeat: false },
      headers: { ...type, 'user-agent': 'taskgate' },
      connectTimeoutMs: CONNECT_MS,
      headersTimeoutMs: ANSWER_MS,
      idleTimeoutMs: ANSWER_MS,
      maxResponseBytes: MAX_ANSWER_BYTES,
    });
    if (!sent.ok) throw new Error(`the authority cannot be reached: ${sent.error.message}`);
    const text = await sent.value.text();
    if (!text.ok) throw new Error(`the authority's answer broke off: ${text.error.message}`);
    nonce = sent.value.headers['replay-nonce']?.[0] ?? nonce;
    return { response: sent.value, text: text.value };
  }

  async function get(url: string): Promise<JsonObject> {
    const { response, text } = await send('GET', url, { kind: 'none' });
    if (response.status !== 200) throw new Error(describeRefusal(response.status, text));
    return readObject(text);
  }

  async function takeNonce(): Promise<string> {
    if (nonce === undefined) {
      newNonce ??= textOf((await get(directoryUrl)).newNonce);
      await send('HEAD', newNonce, { kind: 'none' });
    }
    const taken = nonce;
    nonce = undefined;
    if (taken === undefined) throw new Error('the authority gave no nonce');
    return taken;
  }

  async function post(url: string, payload?: JsonObject): Promise<AcmeAnswer> {
    for (let attempt = 1; ; attempt += 1) {
      const header: Json = {
        alg: 'ES256',
        nonce: await takeNonce(),
        url,
        ...(account === undefined ? { jwk } : { kid: account }),
      };
      const content = { protected: encode(header), payload: payload === undefined ? '' : encode(payload) };
      const key = { key: accountKey, dsaEncoding: 'ieee-p1363' as const };
      const signature = sign('sha256', Buffer.from(`${content.protected}.${content.payload}`), key);
      const text = JSON.stringify({ ...content, signature: signature.toString('base64url') });
      const answer = await send('POST', url, { kind: 'text', text });
      const { status, headers } = answer.response;
      if (status < 300) {
        return {
          status,
          location: headers.location?.[0] ?? '',
          retryAfterSeconds: Number(headers['retry-after']?.[0]) || 0,
          text: answer.text,
        };
      }
      if (!answer.text.includes(':badNonce') || attempt === NONCE_TRIES) {
        throw new Error(describeRefusal(status, answer.text));
      }
    }
  }

  return {
    get,
    post,
    useAccount(url) {
      account = url;
    },
    keyAuthorization: (token) => `${token}.${thumbprint}`,
  };
}

const encode = (value: Json): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** @throws when the text is no JSON object */
export function readObject(text: string): JsonObject {
  const parsed = parseJson(text);
  if (!isObject(parsed)) throw new Error('the authority answered with something else than JSON');
  return parsed;
}

/** @throws when an answer lacks what the protocol promises */
export function textOf(value: Json | undefined): string {
  if (typeof value !== 'string') throw new Error('the authority left out what the protocol demands');
  return value;
}

function describeRefusal(status: number, text: string): string {
  return `the authority refused (${status}): ${describeProblem(parseJson(text))}`;
}

/** The words of a problem document (RFC 7807). */
export function describeProblem(problem: Json | undefined): string {
  const detail = isObject(problem) ? problem.detail : undefined;
  if (typeof detail !== 'string') return 'it gave no reason';
  return removeHiddenCharacters(detail).slice(0, REASON_CHARS);
}
