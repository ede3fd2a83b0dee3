import { NODE_ALIVE_SECONDS, type NodeRecord, type Store } from '../../store/ports/index.ts';
import { operationErrors } from '../errors.ts';

type Nodes = Pick<Store, 'nodes'>;

/** What an operator may do with one node of several. */
export type NodeControl = {
  drain(name: string): Promise<NodeRecord>;
  resume(name: string): Promise<NodeRecord>;
};

/**
 * Takes nodes out of service, one at a time, and puts them back. A node that is out of service
 * answers 503 on `/readyz`, so that load balancers send requests to the others; everything else
 * goes on. Its next start, under a new id, is in service.
 *
 * `drain` in `store/repositories/gateway/nodes.ts` refuses a second node and the last one.
 */
export const createNodeControl = ({ store }: { store: Nodes }): NodeControl => ({
  /** @throws operations.node_unknown, node_ambiguous, node_busy, node_alone */
  async drain(name) {
    const node = await findNode(store, name);
    const verdict = await store.nodes.drain(node.id, NODE_ALIVE_SECONDS);
    if (verdict !== 'drained') throw operationErrors[`node_${verdict}`]();
    return { ...node, drained: true };
  },

  /** @throws operations.node_unknown, node_ambiguous, node_in_service */
  async resume(name) {
    const node = await findNode(store, name);
    if (!(await store.nodes.resume(node.id))) throw operationErrors.node_in_service();
    return { ...node, drained: false };
  },
});

/** A drained node serves again while no other one is in service. `nodes`: those that are alive. */
export const isOutOfService = (nodes: readonly Pick<NodeRecord, 'id' | 'drained'>[], id: string): boolean =>
  nodes.some((node) => node.id === id && node.drained) && nodes.some(({ drained }) => !drained);

/** `name`: an id, or the host name of exactly one living node. */
async function findNode(store: Nodes, name: string): Promise<NodeRecord> {
  const nodes = await store.nodes.alive(NODE_ALIVE_SECONDS);
  const found = nodes.filter(({ id, host }) => id === name || host === name);
  const [node] = found;
  if (!node) throw operationErrors.node_unknown();
  if (found.length > 1) throw operationErrors.node_ambiguous();
  return node;
}
