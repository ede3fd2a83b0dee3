/**
 * What older nodes do not know of and would do wrong. Each node announces all that it knows, and
 * begins nothing of a feature that another living node has not announced. `waiting`: tasks wait.
 * `relay_tasks`: answers of relayed requests are kept, and followed as tasks. `accepted_price`: a
 * task of another model costs no more than was accepted.
 */
export const NODE_FEATURES = ['waiting@1', 'relay_tasks@1', 'accepted_price@1'] as const;
export type NodeFeature = (typeof NODE_FEATURES)[number];

export type NodeRecord = {
  id: string;
  role: string;
  version: string;
  startedAt: number;
  heartbeatAt: number;
  fingerprints: string[];
  /** What it can do that older versions cannot. */
  features: string[];
  /** The name of its machine; empty for an older version. */
  host: string;
  /** An operator has taken it out of service until it is started again. */
  drained: boolean;
};

/** A node counts as alive this long after its last heartbeat: some heartbeats and a margin. */
export const NODE_ALIVE_SECONDS = 35;

/** `silentSeconds`: the age of its latest heartbeat, by the store's clock. */
export type AliveNode = NodeRecord & { silentSeconds: number };

export interface NodeStore {
  /** Written by the store's clock: that of a node may be wrong. */
  heartbeat(
    node: Pick<NodeRecord, 'id' | 'role' | 'version' | 'startedAt' | 'fingerprints'> &
      Partial<Pick<NodeRecord, 'features' | 'host'>>,
  ): Promise<void>;
  /**
   * Nodes whose latest heartbeat is at most `seconds` old. One from the future was written before
   * the clock was set back, and does not count.
   */
  alive(seconds: number): Promise<AliveNode[]>;
  remove(id: string): Promise<void>;
  /**
   * Takes a node out of service, unless another living node is out of service already (`busy`) or
   * no other would be left (`alone`). `aliveSeconds`: as for `alive`.
   */
  drain(id: string, aliveSeconds: number): Promise<'drained' | 'unknown' | 'busy' | 'alone'>;
  /** Puts a node back into service. False: it was not out of service. */
  resume(id: string): Promise<boolean>;
}

/** The store's clock, and the stored deadlines that move with it. */

export interface ClockStore {
  /** Milliseconds since the Unix epoch: by the database's clock on PostgreSQL. */
  nowMs(): Promise<number>;
  /** When the newest task or usage row was written, in Unix seconds; 0 where there is none. */
  latestWriteAt(): Promise<number>;
  /**
   * Moves deadlines with a clock that was set ahead by `byMs`, or back where that is negative, so
   * that each is as far away as before. A clock that was set ahead moves only those at which
   * something ends: what waits may come early. For the only process of a database.
   */
  moveDeadlines(byMs: number): Promise<void>;
}
