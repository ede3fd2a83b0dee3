import type {
  CapacityKey,
  ChannelRecord,
  CountedAccount,
  DeclaredLimit,
  Repositories,
  RestEventRecord,
} from '../../store/ports/index.ts';
import type { VendorAccount } from '../pick-account.ts';

/**
 * Where a task would run. `credentialId`: 0 where none is chosen yet. `pool`: the accounts that
 * share the vendor's limit, `#ID` for a channel that names none. `model`: the upstream model.
 */
export type Scope = { channelId: number; credentialId: number; pool: string; model: string };

/**
 * Why a vendor did not accept a task. `content` and `request` say nothing about the account.
 * `forbidden`: a bare 403, which means `content` or `credential`; `refused` tells which.
 * `in_doubt`: it failed (5xx) or was silent, and may have a job all the same.
 */
export type RefusalKind =
  | ('capacity' | 'rate' | 'balance' | 'credential' | 'vendor_busy')
  | ('content' | 'forbidden' | 'request' | 'in_doubt');

export type Refusal = { kind: RefusalKind; retryAfterMs?: number };

/**
 * A declared limit of a pool, or of one of its models. `accounts`: those that share it; includes
 * deleted channels: a vendor may still run tasks that ended with them. `relays`: whether requests
 * are relayed there.
 */
export type Level = LimitedKey & { accounts: readonly CountedAccount[]; relays: boolean };

/** A pool, or one of its models, and what is declared for it. */
export type LimitedKey = CapacityKey & { limit: DeclaredLimit };

/** A task that is about to be sent. */
export type Start = { taskId: string; slots: number; userId: number };

/** A task on its way to a vendor. Hand it back with the vendor's answer. */
export type Dispatch = Start & {
  readonly scope: Scope;
  /**
   * The latest rests before the task was sent, by key: its answer never ends or renews a later one.
   */
  readonly generations: ReadonlyMap<string, number>;
  /** The task probes whether the vendor runs one more than was learned. */
  readonly isProbe: boolean;
  /** The task tries whether a rest is over. */
  readonly isTrial: boolean;
  /** Its number among the starts of this node in the pool. */
  readonly start: number;
};

/** The columns of a task by which its slots are found. `submitTime`: when a vendor accepted it. */
export type HeldSlots = {
  taskId: string;
  channelId: number;
  credentialId: number | null;
  upstreamModel: string;
  slots: number;
  submitTime?: number;
};

/** The slots that one transaction has locked and may take. */
export type LockedSlots = {
  /** How many tasks of one slot could begin now. */
  left(scope: Scope): number;
  /** The limit that leaves some slots, but too few for a task of `slots`; `undefined`: none. */
  lacking(scope: Scope, slots: number): CapacityKey | undefined;
  /**
   * Begins a task that this transaction moves to `sending`, in the order of the calls. `undefined`:
   * it waits. `dispatchedAtMs` is the store's clock after the lock. If the transaction is rolled
   * back, call `end`.
   */
  take(scope: Scope, task: Start): Promise<(Dispatch & { dispatchedAtMs: number }) | undefined>;
};

/**
 * The slots of accounts. To start a task where `freeSlots` is above 0, call `lockSlots` and `take`
 * in the transaction that moves it to `sending` if `needsLock` is true, else `begin`; send the
 * request; then call `accepted` or `refused`, or `end` for a start that did not happen.
 */
export type Capacity = {
  scope(account: VendorAccount, upstreamModel: string): Scope;
  /** How many tasks an account runs, as far as this node knows. */
  running(account: VendorAccount): number;
  /** The strictest limit that the pool's channels declare for pool or model; `undefined`: none. */
  declared(scope: Scope): DeclaredLimit | undefined;
  /**
   * The requests that this node may relay there now: what is declared and not taken by tasks, of
   * which each live node has a share, but at least 1. 0 during a rest, or until a declared rate
   * allows the next.
   */
  freeRelaySlots(scope: Scope): number;
  /**
   * Takes a slot for a relayed request. Call the returned function at its end, once or more often.
   */
  beginRelay(scope: Scope): () => void;
  /** The share of a limit that each live node keeps on its own, at least 1. */
  nodeShare(most: number): number;
  /** Slots that are free as far as this node knows: 0 during a rest, 1 where a trial is due. */
  freeSlots(scope: Scope): number;
  /**
   * The pool and model whose learned ceiling leaves some slots, but too few for a task of `slots`
   * that already has `held` of them (0 unless given); `undefined`: it leaves enough.
   */
  lacking(scope: Scope, slots: number, held?: number): CapacityKey | undefined;
  /**
   * Whether every credential of a channel rests for a model of the vendor. One that is merely full
   * does not.
   */
  rests(channel: Pick<ChannelRecord, 'id'>, upstreamModel: string): boolean;
  /** Whether a start there needs `lockSlots`: a limit is declared, or a rest ends with a trial. */
  needsLock(scope: Scope): boolean;
  /** Whether the next start there is the trial of a rest. */
  wantsTrial(scope: Scope): boolean;
  /** Locks and counts: the first statements of a transaction. */
  lockSlots(tx: Repositories, scopes: readonly Scope[]): Promise<LockedSlots>;
  /** Takes slots in this node's memory. */
  begin(scope: Scope, task: Start): Dispatch;
  /** Changes the number of slots that `begin` took, once it is known. */
  resize(dispatch: Dispatch, slots: number): Dispatch;
  /** `isDone`: the vendor worked while it was asked, and its answer ends the task. */
  accepted(dispatch: Dispatch, answer?: { isDone: boolean }): void;
  /** Returns the meaning of the refusal, by the other recent refusals of the account. */
  refused(dispatch: Dispatch, refusal: Refusal): Refusal;
  /** The vendor is known to have no job. Idempotent. */
  end(task: HeldSlots): void;
  /** Counts the running tasks of all nodes again. */
  recount(): Promise<void>;
  /** Calls `listener` with where slots became free. Returns a function that removes it. */
  onSlotsFreed(listener: (freed: CapacityKey) => void): () => void;
};

/** Operations of an operator. */
export type CapacityService = Capacity & {
  /** When a channel's accounts rested, were tried and came back, the newest first. */
  restEvents(channel: Pick<ChannelRecord, 'id'>, limit: number): Promise<RestEvent[]>;
  start(): Promise<void>;
  stop(): void;
  describe(channel: ChannelRecord): CapacityView;
  /** How many rests this node has begun, by reason. */
  begunRests(): ReadonlyMap<RestReason, number>;
  /**
   * Ends the rests of a channel and its credentials, and of its pool unless `account` is given.
   * Returns how many.
   */
  wake(channel: ChannelRecord, of?: 'account' | 'pool'): Promise<number>;
  /** Forgets the learned ceilings of its pool. Returns for how many models. */
  clearCeilings(channel: ChannelRecord): Promise<number>;
  /** Frees the slots that ended tasks of its pool still take. Returns how many tasks had one. */
  clearAbandoned(channel: ChannelRecord): Promise<number>;
};

/** A channel's capacity as people see it. Times are Unix seconds; 0: none. */
export type CapacityView = ModelCapacity & {
  models: (ModelCapacity & { model: string })[];
  credentials: ({ id: number } & RestView)[];
};

/** `restingSince`: when the first rest in a row began, as far as this node knows. */
export type RestView = {
  restingUntil: number;
  restReason: RestReason | '';
  restingSince: number;
  /** How many rests came in a row. */
  restStep: number;
};

export type ModelCapacity = {
  running: number;
  /** Null: not known yet. */
  limit: number | null;
  learned: boolean;
  /** Empty: an administrator declared it, or it is not known. */
  limitReason: CeilingReason | 'told' | '';
  abandoned: number;
} & RestView;

export type CeilingReason = 'start' | 'grown' | 'refused' | 'raised';
/** An event of an account's health; `until` 0: nothing rests any longer. */
export type RestEvent = Omit<RestEventRecord, 'reason'> & { reason: RestReason };
export type RestReason = 'capacity' | 'rate' | 'balance' | 'credential' | 'vendor_busy' | 'outage';
