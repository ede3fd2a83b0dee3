import { type Clock, err, type Logger, ok, type Result } from '../../kernel/index.ts';
import { canonicalHost, type Upstream, type UpstreamFailure } from '../../upstream/index.ts';
import { indexLocation } from './index-location.ts';
import { readMirror } from './read-mirror.ts';
import { MAX_HAND_OVER_BYTES } from './signing/hand-over.ts';
import { MAX_SIGNATURE_BYTES } from './signing/signature.ts';
import type { MarketFile, MarketSource, ReadFault, ReadMarketFile } from './types.ts';

/** Limits in bytes: of an index as in new-api, of sources and icons as for uploads. */
export const MARKET_FILE_BYTES: Record<MarketFile, number> = {
  index: 8 * 1024 * 1024,
  signature: MAX_SIGNATURE_BYTES,
  'hand-over': MAX_HAND_OVER_BYTES,
  source: 1024 * 1024,
  icon: 512 * 1024,
};

/** How long a person waits for a page. */
const FETCH_TIMEOUT_MS = 15_000;
const CONNECT_MS = 5000;

/**
 * Fetches files of marketplaces, by HTTP or from the folder `mirrorDir`. Redirects are not
 * followed. A private address is allowed if an administrator has entered it as the source's own,
 * but never for the sources that ship with the gateway.
 */
export function createMarketReader(deps: {
  upstream: Upstream;
  /** The sources that ship with the gateway. They are never at a private address. */
  shippedSources: readonly MarketSource[];
  mirrorDir: string;
  clock: Clock;
  logger: Logger;
  timeoutMs?: number;
}): ReadMarketFile {
  const { upstream, shippedSources, mirrorDir, clock, logger, timeoutMs = FETCH_TIMEOUT_MS } = deps;

  async function download(source: MarketSource, url: URL, maxBytes: number): Promise<Result<Uint8Array, ReadFault>> {
    const signal = AbortSignal.timeout(timeoutMs);
    const explain = (failure: UpstreamFailure) =>
      err({ message: messageOf(failure.kind, maxBytes, timeoutMs), isAbsent: false });
    const answer = await upstream.request({
      url: url.href,
      method: 'GET',
      headers: {},
      body: { kind: 'none' },
      privateHosts: privateHostsOf(source, shippedSources),
      maxRedirects: 0,
      connectTimeoutMs: CONNECT_MS,
      headersTimeoutMs: timeoutMs,
      idleTimeoutMs: timeoutMs,
      maxResponseBytes: maxBytes,
      signal,
    });
    if (!answer.ok) return explain(answer.error);
    const { status } = answer.value;
    if (status !== 200) {
      answer.value.discard();
      const redirects = status >= 300 && status < 400;
      const message = redirects
        ? `The marketplace redirects (HTTP ${status}), which is not followed: enter the final address.`
        : `The marketplace answered HTTP ${status}.`;
      return err({ message, isAbsent: status === 404 || status === 410 });
    }
    const bytes = await answer.value.bytes();
    return bytes.ok ? bytes : explain(bytes.error);
  }

  return async (source, address, what) => {
    const url = new URL(address);
    const started = clock.monotonicMs();
    const maxBytes = MARKET_FILE_BYTES[what];
    const file =
      url.protocol === 'file:' ? await readMirror(mirrorDir, url, maxBytes) : await download(source, url, maxBytes);
    logger.debug(
      {
        task_plugin: 'marketplace_fetch',
        request_id: 'SYSTEM',
        source: source.name,
        file: what,
        ...(file.ok ? { bytes: file.value.byteLength } : { failure: file.error.message }),
        ms: Math.round(clock.monotonicMs() - started),
      },
      'marketplace fetch',
    );
    return file;
  };
}

function privateHostsOf(source: MarketSource, shippedSources: readonly MarketSource[]): string[] {
  const isShipped = shippedSources.some(({ indexUrl }) => indexUrl === source.indexUrl);
  return isShipped ? [] : [canonicalHost(indexLocation(source))];
}

function messageOf(kind: UpstreamFailure['kind'], maxBytes: number, timeoutMs: number): string {
  switch (kind) {
    case 'refused':
      return 'The address is not allowed: it is in a private or reserved network.';
    case 'dns':
      return "The marketplace's name could not be resolved.";
    case 'connect':
      return 'No connection to the marketplace could be made.';
    case 'tls':
      return 'The TLS handshake with the marketplace failed.';
    case 'broken':
      return 'The connection ended before the answer was complete, or the answer is not HTTP.';
    case 'too_large':
      return `The marketplace sends more than ${maxBytes} bytes.`;
    case 'timeout':
    case 'aborted':
      return `The marketplace did not answer completely within ${timeoutMs / 1000} seconds.`;
  }
}

/** Decodes UTF-8. A byte order mark is kept, so that text and bytes have the same hash. */
export function decodeText(bytes: Uint8Array): Result<string, string> {
  try {
    return ok(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return err('The file is not in UTF-8.');
  }
}
