import type { Clock } from '../kernel/index.ts';
import { Connection, type DialHost } from './connection.ts';

/** A request that waits for a connection. It gets one, or is refused because the client closes. */
export type Waiter = { onConnection(connection: Connection): void; onClosed(): void };

type PoolOptions = {
  clock: Clock;
  maxPerHost: number;
  /** The limit of all hosts together. */
  maxTotal: number;
  /** 0: each connection carries one request. */
  maxIdlePerHost: number;
  /** An idle connection is closed after this time. */
  idleMs: number;
};

export interface ConnectionPool {
  /** The function that is returned gives up the wait. */
  acquire(host: Host, waiter: Waiter): () => void;
  close(): void;
}

/** A host as it is reached: targets of one name share connections. */
type Host = { name: string; dial: DialHost };
type Waiting = { dial: DialHost; waiter: Waiter };
/** A host and port. `open` counts all of its connections; the last idle one is the latest. */
type Target = { name: string; open: number; idle: Connection[]; waiting: Set<Waiting> };

/** Connections beyond the total, each the first of its host. */
const FOR_FIRST = 256;
/** How often idle connections are looked at; one that is too old is never used in between. */
const SWEEP_MS = 500;

/** Kept-alive connections of one kind, by host. */
export function createConnectionPool(options: PoolOptions): ConnectionPool {
  const { clock, maxPerHost, maxTotal, maxIdlePerHost, idleMs } = options;
  const targets = new Map<string, Target>();
  const connections = new Set<Connection>();
  const closing = new AbortController();
  let idle = 0;
  let isSweeping = false;

  function findTarget(name: string): Target {
    const known = targets.get(name);
    if (known) return known;
    const target: Target = { name, open: 0, idle: [], waiting: new Set() };
    targets.set(name, target);
    return target;
  }

  /** The latest idle connection that is not too old. */
  function takeIdle(target: Target): Connection | undefined {
    for (;;) {
      const connection = target.idle.pop();
      if (!connection) return undefined;
      idle -= 1;
      if (connection.isUsable() && clock.monotonicMs() < connection.idleUntilMs) return connection;
      connection.destroy();
    }
  }

  /** Makes room for a connection to this target; false while that is impossible. */
  function hasRoom(target: Target): boolean {
    if (target.open >= maxPerHost) return false;
    // Requests that never end may hold all connections: a host that has none gets one nevertheless.
    if (connections.size < maxTotal + (target.open === 0 ? FOR_FIRST : 0)) return true;
    for (const other of targets.values()) {
      const oldest = other.idle.shift();
      if (!oldest) continue;
      idle -= 1;
      // Its slot is free when it has closed.
      oldest.destroy();
      break;
    }
    return false;
  }

  function open(target: Target, dial: DialHost): Connection {
    const connection = new Connection(dial, {
      onIdle: (_, keepForMs) => release(target, connection, keepForMs),
      onClosed: () => forget(target, connection),
    });
    target.open += 1;
    connections.add(connection);
    return connection;
  }

  function release(target: Target, connection: Connection, keepForMs: number): void {
    if (closing.signal.aborted || maxIdlePerHost === 0) {
      connection.destroy();
      return;
    }
    const [next] = target.waiting;
    if (next) {
      const poorest = findPoorest();
      if (connections.size >= maxTotal && poorest && poorest.open + 1 < target.open) {
        // Its slot goes to a host with fewer connections.
        connection.destroy();
        return;
      }
      target.waiting.delete(next);
      next.waiter.onConnection(connection);
      return;
    }
    connection.idleUntilMs = clock.monotonicMs() + Math.min(idleMs, keepForMs);
    target.idle.push(connection);
    idle += 1;
    if (target.idle.length > maxIdlePerHost) {
      idle -= 1;
      target.idle.shift()?.destroy();
    }
    if (!isSweeping) void sweep();
  }

  function forget(target: Target, connection: Connection): void {
    connections.delete(connection);
    target.open -= 1;
    const at = target.idle.indexOf(connection);
    if (at >= 0) {
      target.idle.splice(at, 1);
      idle -= 1;
    }
    const poorest = findPoorest();
    if (poorest) serve(poorest);
    if (target.open === 0 && target.waiting.size === 0) targets.delete(target.name);
  }

  /**
   * The host with the fewest connections among those that wait and may have more: at the total, one
   * whose requests never end would leave the others nothing.
   */
  function findPoorest(): Target | undefined {
    let poorest: Target | undefined;
    for (const target of targets.values())
      if (
        target.waiting.size > 0 &&
        target.open < maxPerHost &&
        target.open < (poorest?.open ?? Number.POSITIVE_INFINITY)
      )
        poorest = target;
    return poorest;
  }

  /** Opens a connection for the first who waits for this target, if there is room. */
  function serve(target: Target): void {
    const [next] = target.waiting;
    if (!next || !hasRoom(target)) return;
    target.waiting.delete(next);
    next.waiter.onConnection(open(target, next.dial));
  }

  async function sweep(): Promise<void> {
    isSweeping = true;
    while (idle > 0 && !closing.signal.aborted) {
      await clock.sleep(SWEEP_MS, closing.signal);
      const now = clock.monotonicMs();
      for (const target of targets.values())
        for (const connection of target.idle) if (connection.idleUntilMs <= now) connection.destroy();
    }
    isSweeping = false;
  }

  return {
    acquire({ name, dial }, waiter) {
      const target = findTarget(name);
      const kept = takeIdle(target);
      if (kept || hasRoom(target)) {
        waiter.onConnection(kept ?? open(target, dial));
        return () => undefined;
      }
      const waiting = { dial, waiter };
      target.waiting.add(waiting);
      return () => {
        target.waiting.delete(waiting);
      };
    },

    close() {
      closing.abort();
      for (const connection of connections) connection.destroy();
      for (const { waiting } of targets.values()) {
        for (const { waiter } of waiting) waiter.onClosed();
        waiting.clear();
      }
    },
  };
}
