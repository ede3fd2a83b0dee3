/** Samples begin at a multiple of this, in Unix seconds. */
export const SAMPLE_SECONDS = 300;

/** What one node did in the time of a sample. */
export type NodeSample = {
  nodeId: string;
  start: number;
  polls: number;
  /** The longest that its event loop was held. */
  lagMs: number;
};

/** What all nodes share, at the time of a sample. */
export type GatewaySample = {
  start: number;
  unfinished: number;
  due: number;
  latenessMs: number;
  databaseBytes: number;
};

export interface SampleStore {
  /** Writes a node's sample; a second one of the same time changes nothing. */
  addNode(sample: NodeSample): Promise<void>;
  /** Whether the shared sample of this time is missing. */
  isMissing(start: number): Promise<boolean>;
  /** Writes the shared sample, unless another node has. */
  addGateway(sample: GatewaySample): Promise<void>;
  /**
   * Samples since `from`, one for each `step` seconds: the sum of the polls, the worst of the rest.
   */
  nodes(from: number, step: number): Promise<Omit<NodeSample, 'nodeId'>[]>;
  gateway(from: number, step: number): Promise<GatewaySample[]>;
  /** Deletes some of the oldest samples before `before`. 0: there are none. */
  deleteOld(before: number): Promise<number>;
}
