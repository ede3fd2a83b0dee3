import { type Clock, err, type Logger, memoizeTexts, ok, type Result } from '../kernel/index.ts';
import { canonicalHost } from './check-address.ts';
import { checkRequest } from './check-request.ts';
import { abortedFailure, refused } from './failures.ts';
import { followRedirect, isRedirect, type Step } from './follow-redirects.ts';
import { openConnections, type Resolve, refusedLiteral } from './open-connections.ts';
import { readResponse } from './read-response.ts';
import { type Answer, type Hop, type HopFailure, sendOnce } from './send-once.ts';
import type { Upstream, UpstreamFailure, UpstreamRequest, UpstreamResponse } from './types.ts';
import { createDeadlines } from './watch-deadlines.ts';
import { prepareBody } from './write-body.ts';

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
  const { allowPrivate, clock, logger } = options;
  const connections = openConnections(options);
  const deadlines = createDeadlines(clock);
  const closing = new AbortController();
  const refusals = {
    public: memoizeTexts((host) => refusedLiteral(host, false, options.privateRanges)),
    any: memoizeTexts((host) => refusedLiteral(host, true, options.privateRanges)),
  };

  async function request(input: UpstreamRequest): Promise<Result<UpstreamResponse, UpstreamFailure>> {
    const checked = checkRequest(input);
    if (!checked.ok) return checked;
    const { method, headers, body } = input;
    let step: Step = { url: checked.value, method, headers, body };
    for (let hops = 0; ; hops += 1) {
      if (closing.signal.aborted) return err(abortedFailure(hops === 0));
      const sent = await send(step, input);
      if (!sent.ok) {
        const { kind, notSent, message } = sent.error;
        logger.debug({ host: canonicalHost(step.url), method: step.method, kind, hops }, 'outbound request failed');
        return err({ kind, notSent: notSent && hops === 0, message });
      }
      const response = readResponse(deadlines, sent.value, { ...input, url: step.url });
      const location = response.headers.location?.[0];
      if (input.maxRedirects === 0 || !isRedirect(response.status, location)) return ok(response);
      response.discard();
      if (hops >= input.maxRedirects) return err({ ...refused('The vendor redirects too often.'), notSent: false });
      const next = followRedirect(step, { status: response.status, location }, input);
      if (!next.ok) return next;
      step = next.value;
    }
  }

  /**
   * One hop. If a kept-alive connection turns out to be closed, a request that is safe to repeat is
   * sent once more on a new one.
   */
  async function send(step: Step, input: UpstreamRequest): Promise<Result<Answer, HopFailure>> {
    const mayBePrivate = allowPrivate || input.privateHosts.includes(canonicalHost(step.url));
    const message = (mayBePrivate ? refusals.any : refusals.public)(step.url.hostname);
    if (message !== undefined) return err({ ...refused(message), stale: false });
    const body = prepareBody(step.body);
    if (!body.ok) return err({ ...body.error, stale: false });

    const repeatable = input.mayRepeat !== false && IDEMPOTENT.has(step.method) && step.body.kind === 'none';
    const hop: Hop = {
      url: step.url,
      method: step.method,
      headers: step.headers,
      body: body.value,
      limits: input,
      signal: input.signal,
    };
    const route = { secure: step.url.protocol === 'https:', mayBePrivate };
    const sent = await sendOnce(
      { connections, deadlines },
      { ...route, reuse: repeatable ? 'idempotent' : 'once' },
      hop,
    );
    if (sent.ok || !sent.error.stale || !repeatable || closing.signal.aborted) return sent;
    const again = await sendOnce({ connections, deadlines }, { ...route, reuse: 'fresh' }, hop);
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
