import { isIP } from 'node:net';
import { err, ok, type Result, type Sentence, sentence } from '../kernel/index.ts';
import { isInRanges, readRange } from './check-address.ts';

const DEFAULT_PORTS = { http: 80, https: 443, socks5: 1080, socks5h: 1080 };

/**
 * A proxy with its credentials. `socks5` is asked for addresses alone, which are resolved here; the
 * others take names too.
 */
export type ProxyServer = {
  scheme: keyof typeof DEFAULT_PORTS;
  host: string;
  port: number;
  user: string;
  password: string;
};

/** How requests leave the machine. */
export type Network = {
  proxy?: ProxyServer | undefined;
  /** Hosts that are reached without the proxy. */
  isDirect: (hostname: string) => boolean;
  /** Names that do not resolve here go to the proxy, also those that users and vendors wrote. */
  proxyResolves: boolean;
  /** PEM certificates of authorities that are trusted besides the well-known ones. */
  authorities: readonly string[];
};

export const DIRECT_NETWORK: Network = { isDirect: () => true, proxyResolves: false, authorities: [] };

/** The settings of the gateway that a network is made from. */
export type NetworkConfig = {
  outboundProxy?: ProxyServer | undefined;
  outboundNoProxy?: Network['isDirect'];
  outboundProxyResolves?: boolean;
  outboundAuthorities?: readonly string[];
};

export const configuredNetwork = (config: NetworkConfig): Network => ({
  proxy: config.outboundProxy,
  isDirect: config.outboundNoProxy ?? DIRECT_NETWORK.isDirect,
  proxyResolves: config.outboundProxyResolves ?? false,
  authorities: config.outboundAuthorities ?? [],
});

/** RFC 1929: each of the two has one byte for its length. */
const MAX_CREDENTIAL_BYTES = 255;

/** Reads `scheme://user:password@host:port`; the error has nothing of the text. */
export function parseProxy(text: string): Result<ProxyServer, Sentence> {
  const wrong = err(sentence('upstream.proxy_form'));
  const [, scheme = '', rest = ''] = /^(https?|socks5h?):\/\/([^\s/?#]+)\/?$/i.exec(text.trim()) ?? [];
  // Parsed as https, whose hosts are brought into one form; the port of https is another default.
  const url = URL.parse(`https://${rest}`);
  if (!url || url.hostname === '') return wrong;
  const kind = scheme.toLowerCase() as ProxyServer['scheme'];
  const isPlainPort = /:443$/.test(rest);
  const port = Number(url.port) || (isPlainPort ? 443 : DEFAULT_PORTS[kind]);
  const credentials = [decode(url.username), decode(url.password)];
  const [user = '', password = ''] = credentials;
  const isFit = credentials.every(
    (each) => each !== undefined && Buffer.byteLength(each) <= MAX_CREDENTIAL_BYTES && !/\p{Cc}/u.test(each),
  );
  // RFC 7617: the colon ends the user.
  if (!isFit || user.includes(':') || (user === '' && password !== '')) return err(sentence('upstream.proxy_user'));
  return ok({ scheme: kind, host: unbracket(url.hostname), port, user, password });
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** A literal IPv6 address as sockets take it. */
export const unbracket = (hostname: string): string => hostname.replace(/^\[(.*)\]$/, '$1');

/** The proxy's address without its credentials. */
export const describeProxy = ({ scheme, host, port }: ProxyServer): string =>
  `${scheme}://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;

/** RFC 7617. */
export const basicCredentials = ({ user, password }: ProxyServer): string =>
  Buffer.from(`${user}:${password}`).toString('base64');

const DOMAIN = /^[\p{L}\p{N}_](?:[\p{L}\p{N}_.-]*[\p{L}\p{N}])?$/u;

/**
 * Reads a list of hosts that are reached directly: names with all below them (`corp.lan`,
 * `.corp.lan`), addresses, CIDRs, or `*` for all. This machine itself is reached directly always.
 * The error is the entry that is none of these.
 */
export function parseDirectHosts(text: string): Result<Network['isDirect'], string> {
  const ranges = ['127.0.0.0/8', '::1/128'];
  const domains = ['localhost'];
  let isAll = false;
  for (const entry of text
    .split(',')
    .map((each) => each.trim().toLowerCase())
    .filter((each) => each !== '')) {
    const range = readRange(unbracket(entry));
    const domain = URL.parse(`https://${entry.replace(/^\*?\./, '')}`)?.hostname ?? '';
    if (entry === '*') isAll = true;
    else if (range !== undefined) ranges.push(range);
    else if (DOMAIN.test(entry.replace(/^\*?\./, '')) && isIP(domain) === 0 && domain !== '') domains.push(domain);
    else return err(entry);
  }
  return ok((hostname) => {
    const host = unbracket(hostname.toLowerCase()).replace(/\.$/, '');
    if (isAll || isInRanges(host, ranges)) return true;
    return isIP(host) === 0 && domains.some((domain) => host === domain || host.endsWith(`.${domain}`));
  });
}

/** Names of a local network, which the proxy is not asked for on behalf of a stranger. */
export const looksLocal = (hostname: string): boolean =>
  !hostname.replace(/\.$/, '').includes('.') ||
  /\.(?:local|localhost|internal|lan|home|home\.arpa)\.?$/i.test(hostname);
