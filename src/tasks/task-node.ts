import type { Billing, Ended, Hold, ReservedTask } from '../billing/index.ts';
import type { Capacity, Dispatch, Scope, Start } from '../channels/index.ts';
import type { FairLimiter, Random } from '../kernel/index.ts';
import type { LoadedPlugin } from '../plugins/index.ts';
import type {
  CapacityKey,
  IdempotencyRecord,
  ModelDuration,
  NewWaiting,
  Repositories,
  TakenWaiting,
  TaskAdvance,
  TaskRecord,
  WaitingCount,
} from '../store/ports/index.ts';
import type { SharedFeatures } from './shared-features.ts';

/** A job that a vendor runs for a task whose submission failed here. `at`: Unix seconds. */
export type UnrecordedJob = { taskId: string; channelId: number; upstreamTaskId: string; at: number };

/** The state and the limits that this node holds for its tasks. */
export type TaskNode = {
  /** This process's name in leases, different at each start. */
  id: string;
  /** The source of random due times, weights and ids of rows. */
  random: Random;
  /** False while a vendor's answer could not be stored. No vendor is asked then. */
  canStore: () => boolean;
  /** How many tasks accounts run, as far as this node knows. */
  capacity: Capacity;
  /** Clients on this node that wait for a task. Notify it of every transition, after its commit. */
  watchers: TaskWatchers;
  /** What one process does at a time. */
  limiters: {
    /**
     * Shares the local work of submissions and quotes fairly among users. Never hold a slot during
     * a vendor's request.
     */
    submissions: FairLimiter;
    /** Limits clients that wait for a task or stream it. */
    observations: ObservationLimit;
    /** Limits repeats of an Idempotency-Key that wait for their first request. */
    repeats: RepeatLimit;
  };
  /** What is written together with others of the same moment, or must not be lost. */
  writes: {
    /** Reserves, bills and refunds, many tasks in one transaction. */
    money: MoneyWrites;
    /** Stores that vendors have accepted tasks. */
    accepted: WriteTransition;
    /** Stores the sources that begin tasks. */
    sources: SourceKeeper;
    /** Jobs of vendors that could not be stored. */
    unrecorded: { add(job: UnrecordedJob): void };
  };
  /** What this node knows of waiting tasks. */
  waiting: { counts: WaitingCounts; durations: ModelDurations };
  /** Renews the leases of submissions. */
  leases: LeaseRenewal;
  /** Call after the commit that schedules copies of results. */
  wakeResults: () => void;
  features: SharedFeatures;
};

/** How long tasks of each model took recently. A model with too few tasks is missing. */
export type ModelDurations = { all(): Promise<ModelDuration[]> };

/** Maximum concurrent observations: of this node, one plugin's tasks, one user, one API key. */
export type ObservationLimits = { node: number; plugin: number; user: number; key: number };

export type Observer = { pluginKey: string; userId: number; keyId: number | null };

/**
 * Limits clients that wait for a response or follow one. An observation holds its slots from before
 * its submission until its answer has ended.
 */
export type ObservationLimit = {
  /**
   * Takes the slots of an observation and returns their release.
   * @throws tasks.rate_limit_exceeded naming the limit
   */
  acquire(observer: Observer): () => void;
};

/** All clients on this node that wait for tasks. */
export type TaskWatchers = {
  /**
   * Shows the task as it is stored now, and again after each change. Call the returned function to
   * stop watching.
   */
  add(taskId: string, watcher: TaskWatcher): () => void;
  /** Call after this process has written the task: its watchers here see the change at once. */
  changed(task: Pick<TaskRecord, 'taskId' | 'callbackUrl'>): void;
  stats(): { watchers: number; tasks: number };
  /** Ends every observation, and each one that begins later: the gateway is stopping. */
  close(): void;
};

/**
 * Callbacks of one watcher; none may throw. `missing`: the task does not exist. Nothing follows
 * `missing` or `close`.
 */
export type TaskWatcher = { see(task: TaskRecord): void; missing(): void; close(): void };

/** Limits the repeats of an Idempotency-Key that wait for their first request. */
export type RepeatLimit = {
  /**
   * Takes the slots of a waiting repeat and returns their release.
   * @throws tasks.idempotency_in_progress when too many are waiting
   */
  acquire(userId: number): () => void;
};

/** Stores the source of the version that begins a task, since the same version ends it. */
export type SourceKeeper = {
  /** Call it in the transaction that inserts the task: it costs a statement once an hour. */
  keep(tx: Repositories, plugin: LoadedPlugin, at: number): Promise<void>;
  /** Call it once that transaction has been committed. */
  committed(plugin: LoadedPlugin, at: number): void;
};

export type LeaseRenewal = {
  /** Renews a submission's lease in the background until you call `stop`. */
  hold(taskId: string, renew: (leaseForMs: number) => Promise<boolean>): { stop(): void };
  /**
   * The ids that this process holds. It knows that on its own: after a jump of the clock or a
   * suspend of the machine their leases look expired until they are renewed.
   */
  held(): string[];
};

/** How long, how many and in which order tasks of a group may wait. */
export type WaitingRules = {
  /** The longest wait; 0: nothing waits, and clients see that a vendor is full. */
  maxWaitMs: number;
  /** Tasks that may wait together, and of one user. */
  maxWaiting: number;
  maxWaitingPerUser: number;
  /** The bytes that their requests may take together. */
  maxWaitingBytes: number;
  /** The bounds that are the group's own: they count its tasks alone, the others those of all. */
  own?: { maxWaiting: boolean; maxWaitingBytes: boolean };
  /** −10 to 10: the highest goes first. */
  priority: number;
  /** The most tasks that each user of the group may run at once; null: no such limit. */
  maxRunning: number | null;
  /** By model: what may serve instead of it. Absent: nothing. */
  fallbacks?: Readonly<Record<string, ModelFallback>>;
};

/**
 * Models that may serve instead of another one, in order, while all of its accounts rest.
 * `afterMs`: also once a task has waited for this long; null: not then.
 */
export type ModelFallback = { models: readonly string[]; afterMs: number | null };

/** The most tasks that the owners of a task may run at once; null: no such limit. */
export type ConcurrencyLimits = { key: number | null; user: number | null; group: number | null };

/** Begins a task or a relayed request: its reservation, its Idempotency-Key, then its rows. */
export type Opening<T> = {
  payer: ReservedTask;
  idempotency: Pick<IdempotencyRecord, 'key' | 'requestHash'> | undefined;
  /** The account that it is sent by, where the store decides whether it may begin. */
  start?: { scope: Scope; task: Start } | undefined;
  /** The own limits of its owners; absent: none holds. */
  most?: ConcurrencyLimits | undefined;
  /** Where it waits if it may not begin, or, without `start`, in any case. */
  queue?: { entry: NewWaiting; rules: WaitingRules } | undefined;
  /** Inserts the rows of the task or request. `dispatch`: the store let it begin. */
  insert: (
    tx: Repositories,
    dispatch: (Dispatch & { dispatchedAtMs: number }) | undefined,
    isParked: boolean,
  ) => Promise<T>;
};

/**
 * Ends a task or a relayed request. `advance`: the change that ends a task, written in one
 * statement with those of the others; `undefined`: somebody else was first. `move` writes what
 * follows if that was written, or changes the state of a relayed request; false: somebody else was
 * first, and no money moves. `taken`: the tasks that `advance` took out of their queues. `owes`: a
 * reservation that was held in memory, which is reserved and billed at once.
 */
export type Closing = {
  advance?: (tx: Repositories) => Promise<TaskAdvance | undefined>;
  move: (tx: Repositories, isAdvanced: boolean) => Promise<boolean>;
  ended: Ended;
  taken?: () => TakenWaiting[];
  owes?: ReservedTask | undefined;
};

/** The waiting tasks, as far as this node knows them. */
export type WaitingCounts = {
  /** How many tasks of this class wait, as far as this node knows: new ones go behind them. */
  count(name: string): number;
  /** Call after the commit that puts a task in a queue, or parks it for its own limit. */
  entered(name: string, options?: { isParked: boolean }): void;
  /** Takes over the counts that were just read. */
  replace(classes: readonly WaitingCount[]): void;
  /** Says where the next free slots are kept for waiting tasks that take several. */
  gather(keys: readonly CapacityKey[]): void;
  /** Whether new tasks do not go straight there: they would take what a waiting one gathers. */
  isGathered(scope: CapacityKey): boolean;
  /** Calls `listener` when this node has put a task in a queue. */
  onEntered(listener: () => void): void;
};

/**
 * Moves money. Writes of the same moment share a transaction, which locks the rows of keys and
 * wallets once, changes each once, and commits once, for all payers. The members share nothing
 * else: each has its own verdict, and a group that fails is run again, each member alone.
 */
export type MoneyWrites = {
  /**
   * Resolves once everything is durable: only then may the vendor be asked.
   * @throws billing.*, tasks.idempotency_in_progress; then nothing of it was written
   */
  open<T>(opening: Opening<T>): Promise<T>;
  /**
   * Holds a reservation in memory until the caller ends it. `undefined`: `open` has to reserve, and
   * says why it cannot.
   */
  hold(payer: ReservedTask): Promise<Hold | undefined>;
  /**
   * Runs a transaction that replaces reservations. Its `replace` does what
   * `billing.replaceReservation` does, but leaves reservations in memory alone.
   */
  replacing<T>(work: (tx: Repositories, replace: Billing['replaceReservation']) => Promise<T>): Promise<T>;
  /** False: `move` said so, and nothing was written. */
  close(closing: Closing): Promise<boolean>;
};

/** A change under a lease. `notify`: the task before it, whose receiver is told. */
export type Transition = TaskAdvance & { notify?: TaskRecord | undefined };

/**
 * Writes a transition together with others of the same moment: a commit costs as much for one row
 * as for a hundred. False: the lease was lost or the task had ended, and nothing was written.
 */
export type WriteTransition = (transition: Transition) => Promise<boolean>;
