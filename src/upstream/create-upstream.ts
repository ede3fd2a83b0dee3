import {
  type Clock,
  err,
  type Logger,
  memoizeTexts,
  ok,
  type Result,
  type Sentence,
  sentence,
  toSentence,
} from '../kernel/index.ts';
import { canonicalHost } from './check-address.ts';
import { checkRequest, checkTarget } from './check-request.ts';
import { type Resolve, refusedLiteral } from './dial.ts';
import { abortedFailure, refused } from './failures.ts';
import { openConnections, type Route } from './open-connections.ts';
import { DIRECT_NETWORK, type Network, type ProxyServer } from './proxies.ts';
import { readResponse } from './read-response.ts';
import { type Answer, type SendFailure, sendOnce } from './send-once.ts';
import type { Upstream, UpstreamFailure, UpstreamRequest, UpstreamResponse } from './types.ts';
import { createDeadlines } from './watch-deadlines.ts';
import { writeRequest } from './write-request.ts';

export type UpstreamOptions = {
  /**
   * Allows private and loopback addresses (tests, labs). Link-local, metadata and reserved ones
   * stay forbidden.
   */
  allowPrivate: boolean;
  /** Canonical CIDRs whose private addresses every request may reach, under any name. */
  privateRanges?: readonly string[];
  clock: Clock;
  logger: Logger;
  /** The proxy and the authorities; without it everything leaves directly. */
  network?: Network;
  /** Replaces the system's resolver. */
  resolve?: Resolve;
  /**
   * PEM certificates that are trusted instead of the built-in list (a private certificate
   * authority).
   */
  trustedCertificates?: readonly string[];
  /** Downloads and relayed streams that may be held open at once, all of one host too. */
  transfers?: number;
};

const IDEMPOTENT = new Set(['GET', 'HEAD']);

/**
 * The outbound client. Expected failures are values: it does not throw for anything that a plugin
 * or a vendor can cause.
 */
export function createUpstream(options: UpstreamOptions): Upstream {
  const { allowPrivate, clock, logger, network = DIRECT_NETWORK } = options;
  const connections = openConnections({ ...options, network });
  const deadlines = createDeadlines(clock);
  const closing = new AbortController();
  const refusals = {
    public: memoizeTexts((host) => refusedLiteral(host, false, options.privateRanges)),
    any: memoizeTexts((host) => refusedLiteral(host, true, options.privateRanges)),
  };

  async function request(input: UpstreamRequest): Promise<Result<UpstreamResponse, UpstreamFailure>> {
    const checked = checkRequest(input);
    if (!checked.ok) return checked;
    let request = input;
    let url = checked.value;
    for (let hops = 0; ; hops += 1) {
      if (closing.signal.aborted) return err(abortedFailure(hops === 0));
      const sent = await send(request, url);
      if (!sent.ok) {
        const { kind, notSent } = sent.error;
        logger.debug({ host: canonicalHost(url), method: request.method, kind, hops }, 'outbound request failed');
        return err({ ...toSentence(sent.error), kind, notSent: notSent && hops === 0 });
      }
      const response = readResponse(deadlines, sent.value, { url, limits: input });
      const location = response.headers.location?.[0];
      if (input.maxRedirects === 0 || !isRedirect(response.status, location)) return ok(response);
      response.discard();
      if (hops >= input.maxRedirects) return err({ ...refused(sentence('upstream.redirects')), notSent: false });
      const next = followRedirect(request, { status: response.status, location });
      if (!next.ok) return next;
      request = next.value;
      url = new URL(request.url);
    }
  }

  function chooseProxy({ proxy }: UpstreamRequest, url: URL): ProxyServer | undefined {
    if (proxy !== undefined) return proxy ?? undefined;
    return network.proxy && !network.isDirect(url.hostname) ? network.proxy : undefined;
  }

  /**
   * Sends to one target. If a kept-alive connection turns out to be closed, a request that is safe
   * to repeat is sent once more on a new one.
   */
  async function send(request: UpstreamRequest, url: URL): Promise<Result<Answer, SendFailure>> {
    const mayBePrivate = allowPrivate || request.privateHosts.includes(canonicalHost(url));
    const refusal = (mayBePrivate ? refusals.any : refusals.public)(url.hostname);
    if (refusal !== undefined) return err({ ...refused(refusal), stale: false });

    const proxy = chooseProxy(request, url);
    // Only the way through a proxy depends on it.
    const isKnown = proxy !== undefined && (request.isKnownHost?.(url) ?? false);
    const isRepeatable = request.mayRepeat !== false && IDEMPOTENT.has(request.method) && request.body.kind === 'none';
    const sendBy = async (reuse: Route['reuse']): Promise<Result<Answer, SendFailure>> => {
      const written = writeRequest(request, { url, keepAlive: reuse !== 'fresh' });
      if (!written.ok) return err({ ...written.error, stale: false });
      const route = {
        url,
        secure: url.protocol === 'https:',
        mayBePrivate,
        isKnown,
        proxy,
        onStep: request.onStep,
        reuse,
      };
      return sendOnce({ connections, deadlines }, route, written.value);
    };
    const sent = await sendBy(request.onStep ? 'fresh' : isRepeatable ? 'idempotent' : 'once');
    if (sent.ok || !sent.error.stale || !isRepeatable || closing.signal.aborted) return sent;
    const again = await sendBy('fresh');
    return again.ok ? again : err({ ...again.error, notSent: false });
  }

  return {
    request,
    async close() {
      closing.abort();
      connections.close();
    },
  };
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Whether an answer with this status and `Location` is a redirect. */
const isRedirect = (status: number, location: string | undefined): location is string =>
  REDIRECTS.has(status) && location !== undefined;

/**
 * The next request after a redirect (RFC 9110 15.4): 303, and 301 or 302 after a POST, continue as
 * GET without a body. Another origin gets no body, and only those headers that may go to every
 * origin. Without `allowRedirect` only the same origin is followed. A refusal here has
 * `notSent: false`, because the vendor has answered at least once.
 */
function followRedirect(
  request: UpstreamRequest,
  { status, location }: { status: number; location: string },
): Result<UpstreamRequest, UpstreamFailure> {
  const { method, headers, body, allowRedirect, headersForEveryOrigin = [] } = request;
  const from = new URL(request.url);
  const no = (said: Sentence) => err({ ...refused(said), notSent: false });
  const target = URL.parse(location, from);
  if (!target) return no(sentence('upstream.redirect_url'));
  target.hash = '';
  const checked = checkTarget(target);
  if (!checked.ok) return no(sentence('upstream.redirect_forbidden'));
  if (from.protocol === 'https:' && target.protocol !== 'https:') return no(sentence('upstream.redirect_http'));
  const sameOrigin = target.origin === from.origin;
  if (allowRedirect ? !allowRedirect(target) : !sameOrigin) return no(sentence('upstream.redirect_host'));

  const asGet = status === 303 ? method !== 'HEAD' : status < 303 && method === 'POST';
  if (!asGet && !sameOrigin && body.kind !== 'none') return no(sentence('upstream.redirect_body'));
  return ok({
    ...request,
    url: target.href,
    method: asGet ? 'GET' : method,
    headers: sameOrigin ? (asGet ? withoutContentHeaders(headers) : headers) : only(headers, headersForEveryOrigin),
    body: asGet ? { kind: 'none' } : body,
  });
}

const only = (headers: Record<string, string>, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => names.includes(name.toLowerCase())));

const withoutContentHeaders = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !name.toLowerCase().startsWith('content-')));
