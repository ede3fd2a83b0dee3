import { isIP } from 'node:net';
import type { Logger } from '../../kernel/index.ts';
import { httpErrors } from '../errors.ts';

export type HostGuardConfig = {
  /**
   * Names under which the panel is known, in lower case and without port; `localhost` and addresses
   * need no name.
   */
  names: () => readonly string[];
  /** Where the listener listens. */
  port: () => number;
};

/** Further ones are refused without a line, so that nobody can fill the log. */
const LOGGED_NAMES = 10;

/**
 * For a listener that only this machine reaches. A page of another site can give its own name this
 * machine's address (DNS rebinding), and its scripts then read what the panel answers; but their
 * requests carry the page's name as `Host`.
 * @throws http.host_forbidden
 */
export function createHostGuard({ names, port }: HostGuardConfig, logger: Logger) {
  const logged = new Set<string>();

  return (request: Request): void => {
    const host = readHost(request);
    if (host && (isLocal(host.hostname) || names().includes(host.hostname) || comesThroughTls(request.headers, host))) {
      return;
    }
    const name = host?.hostname ?? '';
    if (!logged.has(name) && logged.size < LOGGED_NAMES) {
      logged.add(name);
      logger.warn({ host: name }, 'the panel was asked for under a name that it is not known by; see TRUSTED_HOSTS');
    }
    throw httpErrors.host_forbidden({
      message: `This panel is not known by the name "${name}". If the name is yours, set TRUSTED_HOSTS=${name} and start the gateway again, or set the option ServerAddress to the address under which people reach the panel.`,
    });
  };

  /**
   * Browsers send `Sec-Fetch-Site` only where TLS reaches them, no script can set it, and nobody
   * has a certificate for the name of somebody else's page. So a proxy that ends TLS is in between.
   * A page that came here directly names this listener's port.
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

function readHost(request: Request): Host | undefined {
  const address = `http://${request.headers.get('host') ?? new URL(request.url).host}`;
  if (!URL.canParse(address)) return undefined;
  const { hostname, port } = new URL(address);
  return { hostname: hostname.endsWith('.') ? hostname.slice(0, -1) : hostname, port: port || '80' };
}

/**
 * No name of a page: browsers keep `localhost` and names below it for this machine, and an address
 * is not looked up.
 */
const isLocal = (hostname: string): boolean =>
  hostname === 'localhost' || hostname.endsWith('.localhost') || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0;

/** True for `localhost` and loopback addresses, with any port. */
export function hasLoopbackHost(request: Request): boolean {
  const hostname = readHost(request)?.hostname ?? '';
  return hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'));
}
