import { lookup as systemLookup } from 'node:dns/promises';
import http from 'node:http';
import https from 'node:https';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import type { Logger } from '../kernel/index.ts';
import { checkAddress, isInRanges } from './check-address.ts';
import { AddressRefused } from './failures.ts';

export type ResolvedAddress = { address: string; family: number };
/** All addresses of a name in the order to try them; rejects when there is none. */
export type Resolve = (host: string) => Promise<ResolvedAddress[]>;

export type ConnectionOptions = {
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
  agent(route: Route): http.Agent;
  /**
   * Whether the socket was ever connected, including TLS: from then on a byte may have been sent.
   */
  isReady(socket: Socket): boolean;
  /** Whether TCP was ever connected. */
  isConnected(socket: Socket): boolean;
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

/**
 * Opens connections. The address filter runs inside the name lookup, so the checked address is the
 * one connected to.
 */
export function openConnections({
  logger,
  resolve = resolveBySystem,
  trustedCertificates,
  privateRanges = [],
  transfers = 0,
}: ConnectionOptions): Connections {
  const agents = new Map<string, http.Agent>();
  const connected = new WeakSet<Socket>();
  const ready = new WeakSet<Socket>();
  const lookups = {
    public: filteredLookup(resolve, (address) => isAllowed(address, false, privateRanges), logger),
    any: filteredLookup(resolve, (address) => isAllowed(address, true, privateRanges), logger),
  };

  function watch(socket: Socket, secure: boolean): Socket {
    socket.once('connect', () => {
      connected.add(socket);
      if (!secure) ready.add(socket);
    });
    if (secure) socket.once('secureConnect', () => ready.add(socket));
    return socket;
  }

  function createAgent({ secure, mayBePrivate, reuse }: Route): http.Agent {
    const options = {
      keepAlive: reuse !== 'fresh',
      maxSockets: MAX_SOCKETS_PER_HOST + transfers,
      maxTotalSockets: MAX_SOCKETS + transfers,
      maxFreeSockets: MAX_IDLE_SOCKETS_PER_HOST,
      scheduling: 'lifo' as const,
      timeout: reuse === 'once' ? IDLE_ONCE_MS : IDLE_MS,
      lookup: mayBePrivate ? lookups.any : lookups.public,
    };
    const agent: http.Agent = secure
      ? new https.Agent({
          ...options,
          rejectUnauthorized: true,
          minVersion: 'TLSv1.2',
          ...(trustedCertificates && { ca: [...trustedCertificates] }),
        })
      : new http.Agent(options);
    const connect = agent.createConnection.bind(agent);
    agent.createConnection = (target, done) => {
      const socket = connect(target, done);
      if (socket) watch(socket as Socket, secure);
      return socket;
    };
    return agent;
  }

  return {
    agent(route) {
      const name = `${route.secure}/${route.mayBePrivate}/${route.reuse}`;
      const known = agents.get(name);
      if (known) return known;
      const agent = createAgent(route);
      agents.set(name, agent);
      return agent;
    },
    isReady: (socket) => ready.has(socket),
    isConnected: (socket) => connected.has(socket),
    close() {
      for (const agent of agents.values()) agent.destroy();
    },
  };
}

const resolveBySystem: Resolve = (host) => systemLookup(host, { all: true });

const REFUSED_MESSAGE = 'The vendor address is not allowed: private and reserved networks are closed to this request.';

/**
 * Why a literal address as host is refused; `undefined` if it is allowed or a name. Literal
 * addresses never reach the lookup.
 */
export function refusedLiteral(
  hostname: string,
  mayBePrivate: boolean,
  privateRanges: readonly string[] = [],
): string | undefined {
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
