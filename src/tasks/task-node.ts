import type { FairLimiter, Random } from '../kernel/index.ts';
import type { LoadedPlugin } from '../plugins/index.ts';
import type { Repositories, TaskRecord } from '../store/ports/index.ts';
import type { MoneyGroups } from './state/money-groups.ts';
import type { WriteTransition } from './state/write-transitions.ts';

/** What this node holds for its tasks. */
export type TaskNode = {
  /** This process's name in leases, different at each start. */
  id: string;
  /** Decides what is left to chance: due times, weights, ids of rows. */
  random: Random;
  /** False while a vendor's answer could not be stored. No vendor is asked then. */
  canStore: () => boolean;
  /** Clients on this node that wait for a task. Notify it of every transition, after its commit. */
  watchers: TaskWatchers;
  /** Limits clients that wait for a task or stream it. */
  observations: ObservationLimit;
  /**
   * Shares the local work of submissions and quotes fairly among users. Never hold a slot during a
   * vendor's request.
   */
  slots: FairLimiter;
  /** Renews the leases of submissions. */
  leases: LeaseRenewal;
  /** Limits repeats of an Idempotency-Key that wait for their first request. */
  repeats: RepeatLimit;
  /** Stores the sources that begin tasks. */
  sources: SourceKeeper;
  /** Opens and ends what is paid for. */
  money: MoneyGroups;
  /** Stores what vendors accepted. */
  writeAccepted: WriteTransition;
  /** Call after the commit that schedules copies of results. */
  wakeResults: () => void;
};

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
  kept(plugin: LoadedPlugin, at: number): void;
};

export type LeaseRenewal = {
  /** Renews a submission's lease in the background until you call `stop`. */
  hold(taskId: string, renew: (leaseForMs: number) => Promise<boolean>): { stop(): void };
  /**
   * The ids that this process holds. It knows so by itself: after a jump of the clock or a suspend
   * of the machine their leases look expired until they are renewed.
   */
  held(): string[];
};
