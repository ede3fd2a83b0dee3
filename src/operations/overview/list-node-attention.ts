import { sentence } from '../../kernel/index.ts';
import { type AliveNode, NODE_ALIVE_SECONDS, type Store } from '../../store/ports/index.ts';
import { hasOnlyWorkers } from '../nodes/announce-node.ts';
import type { AttentionItem } from './types.ts';

/** A node that ended without removing its row is reported this long after its last heartbeat. */
const GONE_SECONDS = 86_400;

/** Nodes of PostgreSQL that are gone, run other versions, or lack a master. */
export async function listNodeAttention(store: Pick<Store, 'dialect' | 'nodes'>): Promise<AttentionItem[]> {
  // A SQLite database has one process: another row belongs to one that was killed.
  if (store.dialect === 'sqlite') return [];
  const known = await store.nodes.alive(GONE_SECONDS);
  const alive = known.filter(({ silentSeconds }) => silentSeconds <= NODE_ALIVE_SECONDS);
  const items: AttentionItem[] = findGone(known, alive).map((node) => ({
    code: 'node_gone',
    severity: 'warning',
    target: { kind: 'node', id: node.id },
    ...sentence('attention.node_gone', {
      node: node.host === '' ? node.id : `${node.host} (${node.id})`,
      seconds: node.silentSeconds,
    }),
  }));
  const versions = [...new Set(alive.map(({ version }) => version))];
  const system = { kind: 'system' as const, id: null };
  if (versions.length > 1) {
    const said = sentence('attention.node_versions', { versions: versions.join(', ') });
    items.push({ code: 'node_versions_differ', severity: 'warning', target: system, ...said });
  }
  if (hasOnlyWorkers(alive)) {
    items.push({ code: 'no_master', severity: 'warning', target: system, ...sentence('attention.no_master') });
  }
  return items;
}

/**
 * Nodes that fell silent and were not started again: a node that starts after another fell silent
 * takes its place, since each start has a new id.
 */
function findGone(known: readonly AliveNode[], alive: readonly AliveNode[]): AliveNode[] {
  const free = alive.map(({ startedAt }) => startedAt);
  const silent = known.filter((node) => !alive.includes(node));
  return silent
    .toSorted((one, other) => other.heartbeatAt - one.heartbeatAt)
    .filter(({ heartbeatAt }) => {
      const successor = free.findIndex((startedAt) => startedAt >= heartbeatAt);
      if (successor !== -1) free.splice(successor, 1);
      return successor === -1;
    });
}
