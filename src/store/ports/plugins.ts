/** Versions of plugins, the sources that began tasks, and how often each version fails. */

export type PluginRecord = {
  id: number;
  key: string;
  version: string;
  apiVersion: number;
  source: string;
  /** SHA-256 of the source in hex. */
  sourceHash: string;
  /** A data URL, or null. */
  icon: string | null;
  /** Whether this version of its key serves; at most one per key does. */
  active: boolean;
  enabled: boolean;
  remark: string;
  /** The models that an administrator allows; null: all models of the manifest. */
  narrowedModels: string[] | null;
  /** What changed in it by locale, as its marketplace said; null: nothing is known. */
  changelog: Record<string, { name: string; items: string[] }[]> | null;
  createdAt: number;
};

export type NewPlugin = Omit<PluginRecord, 'id' | 'active' | 'changelog'> & Partial<Pick<PluginRecord, 'changelog'>>;

export interface PluginStore {
  /**
   * `undefined` when (key, version) exists. The first version of a key becomes active in the same
   * statement or transaction, unless it `waits` for its activation.
   */
  insert(plugin: NewPlugin, options?: { waits: boolean }): Promise<PluginRecord | undefined>;
  byVersion(key: string, version: string): Promise<PluginRecord | undefined>;
  /** All versions of a key, the newest first. */
  versions(key: string): Promise<PluginRecord[]>;
  /** The active version of every key, enabled or not, in order of key. */
  active(): Promise<PluginRecord[]>;
  /**
   * Makes one version active and enabled, and every other version of its key inactive. False when
   * the version is unknown.
   */
  activate(key: string, version: string): Promise<boolean>;
  /** Makes every version of a key inactive. False when none was active. */
  deactivate(key: string): Promise<boolean>;
  update(
    id: number,
    change: Partial<Pick<PluginRecord, 'enabled' | 'remark' | 'icon' | 'narrowedModels' | 'changelog'>>,
  ): Promise<boolean>;
  /** Enables or disables all versions of a key. */
  setEnabled(key: string, enabled: boolean): Promise<boolean>;
  /**
   * Deletes a version, whose number goes on naming its source. If it was active, the newest
   * remaining one becomes active, and enabled if the deleted one was.
   */
  delete(key: string, version: string, at: number): Promise<boolean>;
  /** The hash of the source that a deleted version had. */
  deletedSource(key: string, version: string): Promise<string | undefined>;
}

/** A plugin source that began tasks. */
export type KeptSource = { sourceHash: string; key: string; version: string; source: string };

/**
 * The tasks that `sourceHash` began until `adoptedAt` (Unix seconds) are polled and read by
 * `adoptedBy` instead: an administrator moved them.
 */
export type Adoption = { sourceHash: string; adoptedBy: string; adoptedAt: number };

export interface PluginSourceStore {
  /**
   * Stores a source, or notes that it began another task. Call it in the transaction that inserts
   * the task.
   */
  keep(source: KeptSource & { at: number }): Promise<void>;
  read(sourceHash: string): Promise<KeptSource | undefined>;
  /** All adoptions; there are as many as versions that began tasks, not as tasks. */
  adoptions(): Promise<Adoption[]>;
  /**
   * Moves all tasks of a key that exist at `at` to the source `by`, which must be kept.
   */
  adopt(adoption: { key: string; by: string; at: number }): Promise<void>;
  /** How many unfinished tasks each source polls, by its hash, after all adoptions. */
  countUnfinished(): Promise<ReadonlyMap<string, number>>;
  /**
   * Deletes at most `limit` sources that began no task since `usedUntil`, that no unfinished task
   * needs, and that have adopted none of those that stay. Returns their number.
   */
  deleteUnused(usedUntil: number, limit: number): Promise<number>;
}

/** What a version is asked for: to submit, to poll, to hand out a result. */
export type PluginStage = 'submit' | 'poll' | 'artifact';

/** Calls of one source in one minute (Unix time / 60), of all nodes. */
export type OutcomeCount = {
  sourceHash: string;
  stage: PluginStage;
  minute: number;
  cases: number;
  failures: number;
};

export type FailureShare = { cases: number; failures: number };

/** A version fails clearly more than the one before it. */
export type FailureVerdict = { stage: PluginStage; at: number; now: FailureShare; before: FailureShare };

/** An activation, and the version that served before. */
export type ActivationRecord = {
  key: string;
  sourceHash: string;
  version: string;
  /** Unix seconds. */
  activatedAt: number;
  formerHash: string;
  formerVersion: string;
  formerLayer: string;
  verdict: FailureVerdict | null;
  /** When the gateway itself went back to the former version; 0: never. */
  rolledBackAt: number;
};

export interface PluginOutcomeStore {
  /** Adds counts to those that are stored. */
  add(counts: readonly OutcomeCount[]): Promise<void>;
  /** The counts of a source's stages from the latest minute on, at most `limit` rows. */
  latest(sourceHash: string, limit: number): Promise<OutcomeCount[]>;
  /** Deletes at most about `limit` rows from before `minute`; returns their number. */
  deleteBefore(minute: number, limit: number): Promise<number>;

  /**
   * Notes an activation. One of the same source before is replaced, but for whether it was rolled
   * back.
   */
  addActivation(activation: Omit<ActivationRecord, 'verdict' | 'rolledBackAt'>): Promise<void>;
  /** Activations at or after `since`, the latest first. */
  activations(since: number): Promise<ActivationRecord[]>;
  setVerdict(activation: ActivationName, verdict: FailureVerdict | null): Promise<void>;
  /** Claims the roll-back of an activation: true once, for one caller. */
  takeRollback(activation: ActivationName, at: number): Promise<boolean>;
}

/** `activatedAt`: a later activation of the same source is another one. */
export type ActivationName = Pick<ActivationRecord, 'key' | 'sourceHash' | 'activatedAt'>;
