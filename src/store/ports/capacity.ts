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
  /** Slots whose tasks a vendor has accepted. */
  accepted: number;
  /** The accepted tasks, not slots, that it says it has not begun. */
  queued: number;
  /** The tasks that are being sent, or accepted and of which no poll has told yet. */
  unpolled: number;
  sending: number;
  /** Ended tasks that a vendor may still run. */
  abandoned: number;
};

/**
 * `starts`: whether those of the last `withinMs` are wanted. `relaysExcept`: also counts the open
 * relayed requests of the accounts, but for those of this node.
 */
export type CountedScope = {
  accounts: readonly CountedAccount[];
  model: string;
  starts: boolean;
  relaysExcept?: string | undefined;
};
export type ScopeCount = { running: number; abandoned: number; startsMs: number[] };

/** What happened to the health of an account, as people read it. */
export type RestEvent = {
  channelId: number;
  /** 0: all keys of the channel. */
  credentialId: number;
  /** The vendor's model that rests; empty: all of them. */
  model: string;
  reason: string;
  /** `tried`: its trial was refused, and the rest goes on. `resumed`: by hand. */
  what: 'rested' | 'tried' | 'back' | 'resumed';
};
/** `until`: when the next trial may be; 0: it rests no longer. Times are Unix seconds. */
export type RestEventRecord = RestEvent & { id: number; until: number; at: number };

export interface CapacityStore {
  all(): Promise<CapacityRecord[]>;
  /**
   * Locks the rows until the transaction ends, in order, and creates those that are missing. On
   * SQLite the transaction itself is the lock.
   */
  lock(keys: readonly CapacityKey[]): Promise<void>;
  /** What runs, is abandoned, and was started within `withinMs`. Call it after `lock`. */
  count(scopes: readonly CountedScope[], withinMs: number): Promise<{ nowMs: number; scopes: ScopeCount[] }>;
  /**
   * What runs by credential and model, but for the tasks of `except`. Open relayed requests are
   * accepted ones without a model; those of `node` are left out.
   */
  running(except: readonly string[], node: string): Promise<RunningCount[]>;
  /** Begins a rest after `generation`; false: a newer one has begun. `event` is noted with it. */
  beginRest(
    key: CapacityKey,
    rest: { generation: number; reason: string; step: number; forMs: number },
    event: RestEvent | null,
  ): Promise<boolean>;
  /** Ends the rest of `generation`; false: it has ended, or a newer one has begun. */
  endRest(key: CapacityKey, generation: number, event: RestEvent | null): Promise<boolean>;
  /** Takes the only trial of a rest that is over, for as long as the task is being sent. */
  claimTrial(key: CapacityKey, trial: { generation: number; taskId: string }): Promise<boolean>;
  /** Writes what was learned if the ceiling is still `before` (0: none). */
  putCeiling(key: CapacityKey, ceiling: { before: number; after: number; reason: string }): Promise<boolean>;
  /** Ends every rest of these pools, for a channel whose people want it. Returns how many. */
  wake(pools: readonly string[], channelId: number): Promise<number>;
  /** The newest of a channel, the newest first. */
  restEvents(channelId: number, limit: number): Promise<RestEventRecord[]>;
  /** Forgets what was learned of a pool. Returns of how many models. */
  clearCeilings(pools: readonly string[]): Promise<number>;
  /** Frees the slots of ended tasks of these accounts. Returns how many tasks had one. */
  clearAbandoned(accounts: readonly CountedAccount[]): Promise<number>;
}
