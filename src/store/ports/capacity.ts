/** What accounts run, and what was learned of their limits. */

/** What shares a limit, and the upstream model; an empty one stands for all of its models. */
export type CapacityKey = { pool: string; model: string };

export type CapacityRecord = CapacityKey & {
  /** Tasks at once; 0: not learned. */
  ceiling: number;
  ceilingReason: string;
  /** How long the rest lasts from now on, by the store's clock; 0: it is over, or there is none. */
  restingForMs: number;
  restReason: string;
  restStep: number;
  restGeneration: number;
  trialTaskId: string | null;
  /** Unix seconds. */
  changedAt: number;
};

/** An account whose tasks are counted; `credentialId` 0: all of the channel. */
export type CountedAccount = { channelId: number; credentialId: number };

/** Tasks of a credential and upstream model, in slots. */
export type RunningCount = {
  channelId: number;
  credentialId: number | null;
  model: string;
  /** Those that a vendor has accepted. */
  accepted: number;
  /** Of these, those that it says it has not begun, in tasks. */
  queued: number;
  sending: number;
  /** Ended tasks that a vendor may still run. */
  abandoned: number;
};

/** `starts`: whether those of the last `withinMs` are wanted. */
export type CountedScope = { accounts: readonly CountedAccount[]; model: string; starts: boolean };
export type ScopeCount = { running: number; abandoned: number; startsMs: number[] };

export interface CapacityStore {
  all(): Promise<CapacityRecord[]>;
  /**
   * Locks the rows until the transaction ends, in order, and creates those that are missing. On
   * SQLite the transaction itself is the lock.
   */
  lock(keys: readonly CapacityKey[]): Promise<void>;
  /** What runs, is abandoned, and was started within `withinMs`. Call it after `lock`. */
  count(scopes: readonly CountedScope[], withinMs: number): Promise<{ nowMs: number; scopes: ScopeCount[] }>;
  /** What runs by credential and model, but for the tasks of `except`. */
  running(except: readonly string[]): Promise<RunningCount[]>;
  /** Begins a rest after `generation`; false: a newer one has begun. */
  beginRest(
    key: CapacityKey,
    rest: { generation: number; reason: string; step: number; forMs: number },
  ): Promise<boolean>;
  /** Ends the rest of `generation`; false: it has ended, or a newer one has begun. */
  endRest(key: CapacityKey, generation: number): Promise<boolean>;
  /** Takes the only trial of a rest that is over, for as long as the task is being sent. */
  claimTrial(key: CapacityKey, trial: { generation: number; taskId: string }): Promise<boolean>;
  /** Writes what was learned if the ceiling is still `before` (0: none). */
  putCeiling(key: CapacityKey, ceiling: { before: number; after: number; reason: string }): Promise<boolean>;
  /** Ends every rest of these pools. Returns how many. */
  wake(pools: readonly string[]): Promise<number>;
  /** Forgets what was learned of a pool. Returns of how many models. */
  clearCeilings(pool: string): Promise<number>;
  /** Frees the slots of ended tasks of these accounts. Returns how many tasks had one. */
  clearAbandoned(accounts: readonly CountedAccount[]): Promise<number>;
}
