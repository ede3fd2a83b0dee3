import { lookup as systemLookup } from 'node:dns/promises';
import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type Clock, type Logger, type Sentence, sentence } from '../kernel/index.ts';
import { checkAddress, isInRanges } from './check-address.ts';
import { type ConnectionPool, createConnectionPool, type Waiter } from './connection-pool.ts';
import { AddressRefused } from './failures.ts';

export type ResolvedAddress = { address: string; family: number };
/** All addresses of a name in the order to try them; rejects when there is none. */
export type Resolve = (host: string) => Promise<ResolvedAddress[]>;

export type ConnectionOptions = {
  clock: Clock;
  logger: Logger;
  resolve?: Resolve;
  trustedCertificates?: readonly string[];
  /** Canonical CIDRs whose private addresses every request may reach. */
  privateRanges?: readonly string[];
  /** Downloads and relayed streams that may be held open at once, all of one host too. */
  transfers?: number;
};

export type Route = {
  secure: boolean;
  /**
   * The target may be private or loopback. Such connections have separate pools, so no other
   * request can reuse one.
   */
  mayBePrivate: boolean;
  /**
   * `idempotent` requests may reuse an older connection, because they can be repeated. `once`
   * reuses only recent ones; `fresh` none.
   */
  reuse: 'idempotent' | 'once' | 'fresh';
};

export interface Connections {
  /**
   * Gives the waiter a connection to the URL's host, at once or when one is free. The function that
   * is returned gives up the wait.
   */
  acquire(route: Route, url: URL, waiter: Waiter): () => void;
  close(): void;
}

/** Besides transfers: submissions, and at most 16 polls at once for each channel. */
const MAX_SOCKETS_PER_HOST = 256;
const MAX_SOCKETS = 2048;
const MAX_IDLE_SOCKETS_PER_HOST = 64;
// Node's servers close an idle connection after 5 s, the shortest common timeout: we close first.
const IDLE_MS = 4000;
// A request that cannot be repeated only uses a connection that was in use a moment ago.
const IDLE_ONCE_MS = 1000;
const TCP_KEEP_ALIVE_MS = 1000;

/**
 * Opens connections. The address filter runs inside the name lookup, so the checked address is the
 * one connected to.
 */
export function openConnections({
  clock,
  logger,
  resolve = resolveBySystem,
  trustedCertificates,
  privateRanges = [],
  transfers = 0,
}: ConnectionOptions): Connections {
  const pools = new Map<string, ConnectionPool>();
  const lookups = {
    public: filteredLookup(resolve, (address) => isAllowed(address, false, privateRanges), logger),
    any: filteredLookup(resolve, (address) => isAllowed(address, true, privateRanges), logger),
  };

  function open({ secure, mayBePrivate }: Route, url: URL): Socket {
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    const target = {
      host,
      port: Number(url.port) || (secure ? 443 : 80),
      lookup: mayBePrivate ? lookups.any : lookups.public,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: TCP_KEEP_ALIVE_MS,
    };
    if (!secure) return connectTcp(target);
    return connectTls({
      ...target,
      // RFC 6066: an address is no server name. The certificate is checked for the host anyway.
      ...(isIP(host) === 0 && { servername: host }),
      ALPNProtocols: ['http/1.1'],
      rejectUnauthorized: true,
      minVersion: 'TLSv1.2',
      ...(trustedCertificates && { ca: [...trustedCertificates] }),
    });
  }

  function openPool(route: Route): ConnectionPool {
    const name = `${route.secure}/${route.mayBePrivate}/${route.reuse}`;
    const known = pools.get(name);
    if (known) return known;
    const pool = createConnectionPool({
      clock,
      secure: route.secure,
      open: (url) => open(route, url),
      maxPerHost: MAX_SOCKETS_PER_HOST + transfers,
      maxTotal: MAX_SOCKETS + transfers,
      maxIdlePerHost: route.reuse === 'fresh' ? 0 : MAX_IDLE_SOCKETS_PER_HOST,
      idleMs: route.reuse === 'once' ? IDLE_ONCE_MS : IDLE_MS,
    });
    pools.set(name, pool);
    return pool;
  }

  return {
    acquire: (route, url, waiter) => openPool(route).acquire(url, waiter),
    close() {
      for (const pool of pools.values()) pool.close();
    },
  };
}

const resolveBySystem: Resolve = (host) => systemLookup(host, { all: true });

const REFUSED_MESSAGE = sentence('upstream.address');

/**
 * Why a literal address as host is refused; `undefined` if it is allowed or a name. Literal
 * addresses never reach the lookup.
 */
export function refusedLiteral(
  hostname: string,
  mayBePrivate: boolean,
  privateRanges: readonly string[] = [],
): Sentence | undefined {
  const address = hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(address) === 0 && !hostname.startsWith('[')) return undefined;
  return isAllowed(address, mayBePrivate, privateRanges) ? undefined : REFUSED_MESSAGE;
}

function isAllowed(address: string, mayBePrivate: boolean, privateRanges: readonly string[]): boolean {
  const verdict = checkAddress(address);
  return verdict === 'public' || (verdict === 'private' && (mayBePrivate || isInRanges(address, privateRanges)));
}

/**
 * One forbidden address among several refuses the name: an honest vendor does not mix them, a DNS
 * rebinding attacker does.
 */
function filteredLookup(resolve: Resolve, isOpen: (address: string) => boolean, logger: Logger): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname).then(
      (resolved) => {
        const refusedAddress = resolved.find(({ address }) => !isOpen(address));
        if (refusedAddress) {
          logger.warn({ host: hostname, address: refusedAddress.address }, 'outbound address refused');
          return callback(new AddressRefused(REFUSED_MESSAGE), '', 0);
        }
        const first = resolved[0];
        if (!first) return callback(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), '', 0);
        if (options.all) return callback(null, resolved);
        callback(null, first.address, first.family);
      },
      (error) => callback(error as NodeJS.ErrnoException, '', 0),
    );
  };
}
