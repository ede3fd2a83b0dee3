import { type Clock, err, type Logger, ok, type Result } from '../../kernel/index.ts';
import { canonicalHost, type Upstream, type UpstreamFailure } from '../../upstream/index.ts';
import { indexLocation } from './index-location.ts';
import { readMirror } from './read-mirror.ts';
import type { MarketFile, MarketSource, ReadMarketFile } from './types.ts';

/** Bytes: indexes as new-api's browser takes them, sources and icons as an upload does. */
export const MARKET_FILE_BYTES: Record<MarketFile, number> = {
  index: 8 * 1024 * 1024,
  source: 1024 * 1024,
  icon: 512 * 1024,
};

/** What somebody before a page waits for. */
const PATIENCE_MS = 15_000;
const CONNECT_MS = 5000;

/**
 * Fetches files of marketplaces: by HTTP, or from the folder `mirrorDir`. Redirects are not
 * followed. A private address is allowed where an administrator has entered it as the source's own;
 * the sources that ship with the gateway have none.
 */
export function createMarketReader(deps: {
  upstream: Upstream;
  /** The sources that ship with the gateway: never at a private address. */
  shippedSources: readonly MarketSource[];
  mirrorDir: string;
  clock: Clock;
  logger: Logger;
  patienceMs?: number;
}): ReadMarketFile {
  const { upstream, shippedSources, mirrorDir, clock, logger, patienceMs = PATIENCE_MS } = deps;

  async function download(source: MarketSource, url: URL, maxBytes: number): Promise<Result<Uint8Array, string>> {
    const signal = AbortSignal.timeout(patienceMs);
    const explain = (failure: UpstreamFailure) => err(messageOf(failure.kind, maxBytes, patienceMs));
    const answer = await upstream.request({
      url: url.href,
      method: 'GET',
      headers: {},
      body: { kind: 'none' },
      privateHosts: privateHostsOf(source, shippedSources),
      maxRedirects: 0,
      connectTimeoutMs: CONNECT_MS,
      headersTimeoutMs: patienceMs,
      idleTimeoutMs: patienceMs,
      maxResponseBytes: maxBytes,
      signal,
    });
    if (!answer.ok) return explain(answer.error);
    const { status } = answer.value;
    if (status !== 200) {
      answer.value.discard();
      const redirects = status >= 300 && status < 400;
      return err(
        redirects
          ? `The marketplace redirects (HTTP ${status}), which is not followed: enter the address where it ends.`
          : `The marketplace answered HTTP ${status}.`,
      );
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
        ...(file.ok ? { bytes: file.value.byteLength } : { failure: file.error }),
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

function messageOf(kind: UpstreamFailure['kind'], maxBytes: number, patienceMs: number): string {
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
      return 'The connection ended before the answer was complete, or what came is no HTTP.';
    case 'too_large':
      return `The marketplace sends more than ${maxBytes} bytes.`;
    case 'timeout':
    case 'aborted':
      return `The marketplace did not answer completely within ${patienceMs / 1000} seconds.`;
  }
}

/**
 * Text from bytes that must be UTF-8; a byte order mark stays, so that the text has the hash of the
 * bytes.
 */
export function decodeText(bytes: Uint8Array): Result<string, string> {
  try {
    return ok(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return err('The file is not in UTF-8.');
  }
}
