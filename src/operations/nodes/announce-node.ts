import { hostname } from 'node:os';
import { type Clock, type Logger, OperatorError, sleepInStep } from '../../kernel/index.ts';
import { NODE_ALIVE_SECONDS, NODE_FEATURES, type NodeRecord, type Store } from '../../store/ports/index.ts';
import { isOutOfService } from './drain-node.ts';

/** The only node of a database tells nobody but the command line, and wakes up with its loops. */
const HEARTBEAT_MS = { sqlite: 15_000, postgres: 10_000 };

export const ONLY_WORKERS =
  'every running node is a worker, so that ended sessions and used sign-in flows are never cleaned up: run one with NODE_ROLE=master';

export const hasOnlyWorkers = (nodes: readonly NodeRecord[]): boolean =>
  nodes.length > 0 && nodes.every(({ role }) => role === 'worker');

export type NodePresence = {
  /**
   * An operator has taken this node out of service, as of the last heartbeat. Never while no other
   * node is in service.
   */
  isDrained(): boolean;
  /** Ends the heartbeat and removes the node's row. */
  stop(): Promise<void>;
};

/**
 * Adds this process to the table of nodes and keeps its heartbeat. On PostgreSQL it refuses if it
 * shares no secret of a kind, current or former, with a live node: neither could read what the
 * other writes. A SQLite database has one process, so that another row belongs to one that has
 * ended.
 *
 * @throws `OperatorError`
 */
export async function announceNode(options: {
  store: Store;
  clock: Clock;
  logger: Logger;
  /** A new id at every start; it is also the holder of this node's leases. */
  id: string;
  role: string;
  version: string;
  fingerprints: string[];
}): Promise<NodePresence> {
  const { store, clock, logger } = options;
  const startedAt = clock.unix();
  const startedMs = clock.monotonicMs();
  if (store.dialect === 'postgres') {
    await requireSharedSecrets(store, options.fingerprints);
  }
  const { id, role, version, fingerprints } = options;
  const features = [...NODE_FEATURES];
  const row = { id, role, version, startedAt, fingerprints, features, host: hostname() };
  const beat = () => store.nodes.heartbeat(row);
  await beat();

  let warned = false;
  let isDrained = false;
  async function beatAndCheck(): Promise<void> {
    await beat();
    if (store.dialect === 'sqlite') return;
    const nodes = await store.nodes.alive(NODE_ALIVE_SECONDS);
    const isOut = isOutOfService(nodes, id);
    if (isOut !== isDrained) logger.info({}, isOut ? 'taken out of service: /readyz answers 503' : 'back in service');
    isDrained = isOut;
    warnWithoutMaster(nodes);
  }

  /** Warns once, and not before nodes that start together have all written their rows. */
  function warnWithoutMaster(nodes: readonly NodeRecord[]): void {
    const isNew = clock.monotonicMs() - startedMs < NODE_ALIVE_SECONDS * 1000;
    if (warned || role !== 'worker' || isNew) return;
    warned = hasOnlyWorkers(nodes);
    if (warned) logger.warn({}, ONLY_WORKERS);
  }

  const stopping = new AbortController();
  const beating = (async () => {
    while (true) {
      await sleepInStep(clock, HEARTBEAT_MS[store.dialect], stopping.signal);
      if (stopping.signal.aborted) return;
      await beatAndCheck().catch((error) =>
        logger.warn({ err: error }, 'the heartbeat could not be written; the next one follows within 15 s'),
      );
    }
  })();
  return {
    isDrained: () => isDrained,
    async stop() {
      stopping.abort();
      await beating;
      await store.nodes
        .remove(id)
        .catch((error) =>
          logger.warn({ err: error }, 'the row of this node could not be removed; it expires by itself'),
        );
    },
  };
}

/** @throws `OperatorError` if a live node of this database has other secrets */
export async function requireSharedSecrets(store: Store, fingerprints: readonly string[]): Promise<void> {
  for (const other of await store.nodes.alive(NODE_ALIVE_SECONDS)) requireSharedSecret(fingerprints, other);
}

function requireSharedSecret(own: readonly string[], other: NodeRecord): void {
  for (const [kind, variable] of [
    ['session', 'SESSION_SECRET'],
    ['crypto', 'CRYPTO_SECRET'],
  ] as const) {
    const shared = other.fingerprints.some((print) => print.startsWith(`${kind}:`) && own.includes(print));
    if (shared) continue;
    throw new OperatorError(
      `${variable} differs from that of the node ${other.id}, which is running on the same database. Give both the same value, or name the other's value in ${variable}_PREVIOUS. A node that was just stopped counts as running for ${NODE_ALIVE_SECONDS} seconds`,
    );
  }
}
