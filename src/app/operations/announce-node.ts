import type { Clock, Logger } from '../../kernel/index.ts';
import type { NodeRecord, Store } from '../../store/ports/index.ts';
import { CommandError } from '../cli/command.ts';

/** A node whose last sign of life is younger than this lives: three heartbeats and a little. */
export const NODE_ALIVE_SECONDS = 35;
const HEARTBEAT_MS = 10_000;

export const ONLY_WORKERS =
  'every running node is a worker, so that ended sessions and used steps of sign-ins are never cleaned up: run one with NODE_ROLE=master';

export const onlyWorkers = (nodes: readonly NodeRecord[]): boolean =>
  nodes.length > 0 && nodes.every(({ role }) => role === 'worker');

export type NodePresence = {
  /** Ends the heartbeat and removes the node's row. */
  stop(): Promise<void>;
};

/**
 * Enters this process into the list of nodes and keeps it there. On PostgreSQL it refuses
 * (`CommandError`) when a live node shares neither the current nor a former secret of a kind: the
 * two could not read what the other writes. A SQLite database has one process, and what stands
 * there is the row of one that has ended.
 */
export async function announceNode(options: {
  store: Store;
  clock: Clock;
  logger: Logger;
  /** This process's name, new at every start; leases bear it too. */
  id: string;
  role: string;
  version: string;
  fingerprints: string[];
}): Promise<NodePresence> {
  const { store, clock, logger } = options;
  const startedAt = clock.unix();
  if (store.dialect === 'postgres') {
    await refuseStrangers(store, options.fingerprints, startedAt);
  }
  const { id, role, version, fingerprints } = options;
  const beat = () => store.nodes.heartbeat({ id, role, version, startedAt, fingerprints }, clock.unix());
  await beat();

  let warned = false;
  /** Once, and not before nodes that start together have all entered themselves. */
  async function lookForMaster(): Promise<void> {
    const now = clock.unix();
    if (warned || role !== 'worker' || now - startedAt < NODE_ALIVE_SECONDS) return;
    warned = onlyWorkers(await store.nodes.alive(now - NODE_ALIVE_SECONDS));
    if (warned) logger.warn({}, ONLY_WORKERS);
  }

  const stopping = new AbortController();
  const beating = (async () => {
    while (true) {
      await clock.sleep(HEARTBEAT_MS, stopping.signal);
      if (stopping.signal.aborted) return;
      await Promise.all([beat(), lookForMaster()]).catch((error) =>
        logger.warn({ err: error }, 'heartbeat not written'),
      );
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await beating;
      await store.nodes.remove(id).catch((error) => logger.warn({ err: error }, 'node row not removed'));
    },
  };
}

/** @throws CommandError when a live node of this database has other secrets */
export async function refuseStrangers(store: Store, fingerprints: readonly string[], now: number): Promise<void> {
  for (const other of await store.nodes.alive(now - NODE_ALIVE_SECONDS)) refuseStranger(fingerprints, other);
}

function refuseStranger(mine: readonly string[], other: NodeRecord): void {
  for (const [kind, variable] of [
    ['session', 'SESSION_SECRET'],
    ['crypto', 'CRYPTO_SECRET'],
  ] as const) {
    const shared = other.fingerprints.some((print) => print.startsWith(`${kind}:`) && mine.includes(print));
    if (shared) continue;
    throw new CommandError(
      `${variable} differs from that of the node ${other.id}, which is running on the same database. Give both the same value, or name the other's value in ${variable}_PREVIOUS. A node that was just stopped counts as running for ${NODE_ALIVE_SECONDS} seconds`,
    );
  }
}
