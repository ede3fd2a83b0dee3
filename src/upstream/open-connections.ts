import type { Clock } from '../kernel/index.ts';
import { type ConnectionPool, createConnectionPool, type Waiter } from './connection-pool.ts';
import { createDial, type DialOptions, type NetworkPath } from './dial.ts';
import { basicCredentials, describeProxy } from './proxies.ts';

export type ConnectionOptions = DialOptions & {
  clock: Clock;
  /** Downloads and relayed streams that may be held open at once, all of one host too. */
  transfers?: number | undefined;
};

export type Route = NetworkPath & {
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
  acquire(route: Route, waiter: Waiter): () => void;
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

/** Keeps connections for further requests, each for those that it may serve. */
export function openConnections({ clock, transfers = 0, ...options }: ConnectionOptions): Connections {
  const pools = new Map<string, ConnectionPool>();
  const dial = createDial(options);

  function openPool(route: Route): ConnectionPool {
    // A connection that was opened with permission is not lent to a request without it.
    const name = `${route.secure}/${route.mayBePrivate}/${route.reuse}`;
    const known = pools.get(name);
    if (known) return known;
    const pool = createConnectionPool({
      clock,
      maxPerHost: MAX_SOCKETS_PER_HOST + transfers,
      maxTotal: MAX_SOCKETS + transfers,
      maxIdlePerHost: route.reuse === 'fresh' ? 0 : MAX_IDLE_SOCKETS_PER_HOST,
      idleMs: route.reuse === 'once' ? IDLE_ONCE_MS : IDLE_MS,
    });
    pools.set(name, pool);
    return pool;
  }

  return {
    acquire(route, waiter) {
      const dialRoute = (signal: AbortSignal, onConnected: () => void) => dial(route, signal, onConnected);
      return openPool(route).acquire({ name: nameTarget(route), dial: dialRoute }, waiter);
    },
    close() {
      for (const pool of pools.values()) pool.close();
    },
  };
}

/** Requests with the same name share connections: the host, and how it is reached. */
function nameTarget({ url, proxy, isKnown }: Route): string {
  if (proxy === undefined) return url.host;
  return `${url.host} ${isKnown} ${describeProxy(proxy)} ${basicCredentials(proxy)}`;
}
