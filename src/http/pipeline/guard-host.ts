import { isIP } from 'node:net';
import { type Logger, memoizeTexts, type ReportCacheSize, sentence } from '../../kernel/index.ts';
import { httpErrors } from '../responses/errors.ts';

export type HostGuardConfig = {
  /**
   * Names under which people open the panel, in lower case and without port. `localhost` and IP
   * addresses are always allowed.
   */
  names: () => readonly string[];
  /** The port of the listener. */
  port: () => number;
};

/** Refused names that get a log line; further ones get none, so that the log cannot be flooded. */
const LOGGED_NAMES = 10;

/**
 * Stops DNS rebinding on a listener that only this machine can reach. A page of another site can
 * point its own name at this machine's address; its scripts could then read the panel's responses.
 * But their requests carry the page's name as `Host`, and unknown names are refused here.
 * @throws http.host_forbidden
 */
export function createHostGuard({ names, port }: HostGuardConfig, logger: Logger, reportCacheSize?: ReportCacheSize) {
  const logged = new Set<string>();
  const read = memoizeTexts(parseHost, (size) => reportCacheSize?.('guarded_hosts', size));

  return (request: Request): void => {
    const host = read(readHost(request));
    if (host && (isLocal(host.hostname) || names().includes(host.hostname) || comesThroughTls(request.headers, host))) {
      return;
    }
    const name = host?.hostname ?? '';
    if (!logged.has(name) && logged.size < LOGGED_NAMES) {
      logged.add(name);
      logger.warn(
        { host: name },
        'refused a request for the panel under an unknown host name; if the name is yours, add it to TRUSTED_HOSTS',
      );
    }
    throw httpErrors.host_forbidden({
      message: sentence('http.host', { host: name, again: name }),
    });
  };

  /**
   * True when a proxy that terminates TLS stands in front. Browsers send `Sec-Fetch-Site` only over
   * TLS, no script can set it, and an attacker has no certificate for this name. A page that came
   * here directly names this listener's port.
   */
  function comesThroughTls(headers: Headers, host: Host): boolean {
    const origin = headers.get('origin');
    return (
      headers.has('sec-fetch-site') &&
      (origin === null || origin.startsWith('https://')) &&
      host.port !== String(port())
    );
  }
}

type Host = { hostname: string; port: string };

/** Empty if the request has none, as is allowed in HTTP/1.0. */
function readHost(request: Request): string {
  const given = request.headers.get('host');
  if (given) return given;
  return URL.canParse(request.url) ? new URL(request.url).host : '';
}

/** The name in `Host`, in lower case; undefined for a broken one. */
export const readHostName = (request: Request): string | undefined => parseHost(readHost(request))?.hostname;

function parseHost(host: string): Host | undefined {
  const address = `http://${host}`;
  if (!URL.canParse(address)) return undefined;
  const { hostname, port } = new URL(address);
  return { hostname: hostname.endsWith('.') ? hostname.slice(0, -1) : hostname, port: port || '80' };
}

/**
 * True for hosts that no DNS record can rebind: browsers reserve `localhost` and names below it for
 * this machine, and IP addresses are not looked up.
 */
const isLocal = (hostname: string): boolean =>
  hostname === 'localhost' || hostname.endsWith('.localhost') || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0;

/** True for `localhost` and loopback addresses, with any port. */
export function hasLoopbackHost(request: Request): boolean {
  const hostname = parseHost(readHost(request))?.hostname ?? '';
  return hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'));
}
