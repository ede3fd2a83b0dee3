import { err, type Json, ok, type Result, sentence } from '../kernel/index.ts';
import type { Upstream, UpstreamFailure } from './types.ts';

export type ProviderRequest = {
  url: string;
  headers?: Record<string, string>;
  /** With a body the request is a POST with the matching content type. */
  body?: { form: Record<string, string> } | { json: Json } | { text: string };
};

export type ProviderAnswer = {
  status: number;
  /** Lower case, without parameters. */
  contentType: string;
  text: string;
};

/** Calls an identity provider or a similar service. An answer with any status is a success. */
export type CallProvider = (request: ProviderRequest) => Promise<Result<ProviderAnswer, UpstreamFailure>>;

/** How long a person waits at a login page. */
const TIMEOUT_MS = 10_000;
const CONNECT_MS = 5000;
/** Profiles, keys and discovery documents take a few KiB. */
export const MAX_PROVIDER_ANSWER_BYTES = 512 * 1024;

/**
 * One conversation with a provider. All its requests together take at most `timeoutMs`, each answer
 * has at most 512 KiB, and redirects are not followed. `configured` are addresses that an
 * administrator entered: only their hosts may be private.
 */
export function openProvider(
  upstream: Upstream,
  configured: readonly string[],
  timeoutMs: number = TIMEOUT_MS,
): CallProvider {
  const signal = AbortSignal.timeout(timeoutMs);
  const privateHosts = configured
    .filter((address) => URL.canParse(address))
    .map((address) => new URL(address).host.toLowerCase());
  const said = sentence('upstream.incomplete', { seconds: timeoutMs / 1000 });
  const timeout = () => err<UpstreamFailure>({ kind: 'timeout', notSent: false, ...said });

  return async ({ url, headers, body }) => {
    const answer = await upstream.request({
      url,
      method: body ? 'POST' : 'GET',
      headers: { accept: 'application/json', ...contentType(body), ...headers },
      body: body ? { kind: 'text', text: encode(body) } : { kind: 'none' },
      privateHosts,
      isKnownHost: () => true,
      maxRedirects: 0,
      connectTimeoutMs: CONNECT_MS,
      headersTimeoutMs: timeoutMs,
      idleTimeoutMs: timeoutMs,
      maxResponseBytes: MAX_PROVIDER_ANSWER_BYTES,
      signal,
    });
    if (!answer.ok) return signal.aborted ? timeout() : answer;
    const text = await answer.value.text();
    if (!text.ok) return signal.aborted ? timeout() : text;
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
