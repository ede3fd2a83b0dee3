import { err, type Json, ok, type Result } from '../kernel/index.ts';
import type { Upstream, UpstreamFailure } from './types.ts';

export type ProviderRequest = {
  url: string;
  headers?: Record<string, string>;
  /** Makes it a POST, with the content type that goes with it. */
  body?: { form: Record<string, string> } | { json: Json } | { text: string };
};

export type ProviderAnswer = {
  status: number;
  /** Lower case, without parameters. */
  contentType: string;
  text: string;
};

/** Asks a provider of identities or the like. A status of any kind is an answer. */
export type CallProvider = (request: ProviderRequest) => Promise<Result<ProviderAnswer, UpstreamFailure>>;

/** What somebody at a login page waits for. */
const PATIENCE_MS = 10_000;
const CONNECT_MS = 5000;
/** Profiles, keys and discovery documents take a few KiB. */
export const MAX_PROVIDER_ANSWER_BYTES = 512 * 1024;

/**
 * One conversation with a provider: everything that is asked in it takes at most `patienceMs`
 * together, each answer has at most 512 KiB, and redirects are not followed. `configured` are the
 * addresses that an administrator wrote down: their hosts alone may be private.
 */
export function openProvider(
  upstream: Upstream,
  configured: readonly string[],
  patienceMs: number = PATIENCE_MS,
): CallProvider {
  const signal = AbortSignal.timeout(patienceMs);
  const privateHosts = configured
    .filter((address) => URL.canParse(address))
    .map((address) => new URL(address).host.toLowerCase());
  const message = `No complete answer within ${patienceMs / 1000} seconds.`;
  const late = () => err<UpstreamFailure>({ kind: 'timeout', notSent: false, message });

  return async ({ url, headers, body }) => {
    const answer = await upstream.request({
      url,
      method: body ? 'POST' : 'GET',
      headers: { accept: 'application/json', ...contentType(body), ...headers },
      body: body ? { kind: 'text', text: encode(body) } : { kind: 'none' },
      privateHosts,
      maxRedirects: 0,
      connectTimeoutMs: CONNECT_MS,
      headersTimeoutMs: patienceMs,
      idleTimeoutMs: patienceMs,
      maxResponseBytes: MAX_PROVIDER_ANSWER_BYTES,
      signal,
    });
    if (!answer.ok) return signal.aborted ? late() : answer;
    const text = await answer.value.text();
    if (!text.ok) return signal.aborted ? late() : text;
    const type = answer.value.headers['content-type']?.[0] ?? '';
    return ok({
      status: answer.value.status,
      contentType: type.split(';', 1)[0]?.trim().toLowerCase() ?? '',
      text: text.value,
    });
  };
}

type Body = NonNullable<ProviderRequest['body']>;

function contentType(body: Body | undefined): Record<string, string> {
  if (!body || 'text' in body) return {};
  return { 'content-type': 'form' in body ? 'application/x-www-form-urlencoded' : 'application/json' };
}

function encode(body: Body): string {
  if ('form' in body) return new URLSearchParams(body.form).toString();
  return 'json' in body ? JSON.stringify(body.json) : body.text;
}
