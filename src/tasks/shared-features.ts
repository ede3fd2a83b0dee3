import { NODE_FEATURES, type NodeFeature, type NodeRecord, type Store } from '../store/ports/index.ts';

/** Features that all living nodes know: during a rolling upgrade, only these are used. */
export type SharedFeatures = {
  has(feature: NodeFeature): boolean;
  /** The nodes that live, as they were just read. */
  learnFrom(nodes: readonly Pick<NodeRecord, 'features'>[]): void;
};

/** A SQLite database has one node. On PostgreSQL nothing is known until the nodes were read. */
export function createSharedFeatures({ dialect }: Pick<Store, 'dialect'>): SharedFeatures {
  let known: ReadonlySet<string> = new Set(dialect === 'sqlite' ? NODE_FEATURES : []);
  return {
    has: (feature) => known.has(feature),
    learnFrom(nodes) {
      known = new Set(NODE_FEATURES.filter((each) => nodes.every(({ features }) => features.includes(each))));
    },
  };
}
