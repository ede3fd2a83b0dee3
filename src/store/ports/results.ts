/** Kept results and their previews. */
import type { Sentence, StoredSentence } from '../../kernel/index.ts';

/** `pending`: not copied yet. `lost`: given up, the vendor's copy is all there is. */
export type ResultState = 'pending' | 'kept' | 'lost';

/**
 * A file that the gateway keeps, or is to keep: an artifact of a task or its preview, a file of a
 * task's request (`input:N`, `waiting:N`), or a relayed answer.
 */
export type KeptResultRecord = {
  id: number;
  taskId: string;
  /** Empty: stands for all artifacts of the task, which are not listed yet. */
  artifactKey: string;
  userId: number;
  state: ResultState;
  /** The artifact's type as its plugin says, or `preview`; empty while it is not listed. */
  kind: string;
  /** In hex; null unless kept. */
  sha256: string | null;
  bytes: number;
  mimeType: string;
  /** Unix seconds. */
  keptAt: number;
  /** Unix seconds; 0: without an end. */
  keptUntil: number;
  /** Why the last attempt failed, or why it is lost. Safe to show. */
  reason: string;
  /** What `reason` says; null without one, and for older rows. */
  reasonSentence: StoredSentence | null;
  attempts: number;
  nextAttemptAtMs: number;
  giveUpAtMs: number;
  leaseOwner: string | null;
  leaseUntilMs: number;
  leaseSeq: number;
  createdAt: number;
  /** The size of a kept preview in pixels; 0 for others. */
  width: number;
  height: number;
};

/** Proof of a claim, which each write of the attempt must name. */
export type ResultLease = Pick<KeptResultRecord, 'id' | 'leaseSeq'> & { leaseOwner: string };

/** `after`, `except`: users; see `claim`. */
export type ResultClaim = {
  owner: string;
  limit: number;
  leaseForMs: number;
  after?: number;
  except?: readonly number[];
  /** Results that this process holds, whatever the clock says. */
  held?: readonly number[];
};

/**
 * No pause before an attempt is longer. One that is further ahead is made at once: the clock was
 * set back.
 */
export const LONGEST_RESULT_PAUSE_MS = 60 * 60_000;

/** How long copying a result is tried at most. */
export const LONGEST_RESULT_TRIES_MS = 7 * 24 * 3_600_000;

/** The `kind` of a file that came with a task's request. Plugins' artifacts have other kinds. */
export const INPUT_KIND = 'input';

/** The `kind` of a relayed answer that is kept for its client; `taskId` is that of the request. */
export const ANSWER_KIND = 'answer';

/** The key of file number `index` of a request that waits to be sent. */
export const heldKey = (index: number): string => `waiting:${index}`;

/**
 * Files of a task's request, or its answer, which are in their place and announced by `expectFile`.
 * `kind`: `INPUT_KIND` unless given.
 */
export type NewKeptFiles = Pick<KeptResultRecord, 'taskId' | 'userId' | 'keptAt' | 'keptUntil'> & {
  kind?: typeof INPUT_KIND | typeof ANSWER_KIND;
  files: readonly (Pick<KeptResultRecord, 'artifactKey' | 'bytes'> & { sha256: string })[];
  /** Bytes that the user may keep, with these; undefined: no limit. */
  quotaBytes?: number | undefined;
};

export type PendingResult = Pick<KeptResultRecord, 'taskId' | 'artifactKey' | 'userId' | 'kind' | 'createdAt'>;

/** A file that was copied whole and stands in its place. */
export type CopiedFile = Pick<KeptResultRecord, 'bytes' | 'mimeType' | 'keptAt' | 'keptUntil'> & {
  sha256: string;
  /** The size of a preview in pixels. */
  size?: { width: number; height: number } | undefined;
  /** Bytes that the owner of the result may keep, with this one; undefined: no limit. */
  quotaBytes?: number | undefined;
};

export interface ResultStore {
  /**
   * Adds results to keep, due at once and given up `forMs` from now; those that are known stay as
   * they are.
   */
  schedule(results: readonly PendingResult[], forMs: number): Promise<void>;
  /**
   * Milliseconds until the next pending result is due, by the store's clock: 0 or less when one is;
   * undefined without one whose lease is free.
   */
  untilDue(): Promise<number | undefined>;
  /**
   * Claims pending results that are due: the longest overdue one of each user, beginning with the
   * user after `after` and skipping those in `except`. Fewer than `limit` does not mean that
   * nothing else is due.
   */
  claim(claim: ResultClaim): Promise<KeptResultRecord[]>;
  /** Extends a claim. False when it was lost. */
  renew(lease: ResultLease, forMs: number): Promise<boolean>;
  /**
   * Replaces the result that stands for all artifacts of a task by these. False when the claim was
   * lost: then nothing was written.
   */
  list(lease: ResultLease, artifacts: readonly PendingResult[], forMs: number): Promise<boolean>;
  /**
   * Announces a result that is about to need this file, which nothing deletes for the next hour.
   * False: it is being deleted. Look afterwards whether the file is there: it may have been deleted
   * before this call.
   */
  expectFile(file: Pick<CopiedFile, 'sha256' | 'bytes'>): Promise<boolean>;
  /**
   * Marks a result as kept and counts it among those that need its file. Otherwise nothing is
   * written. `over_quota`: with it, its owner would keep more than `quotaBytes`. `being_deleted`: a
   * file with this digest is being deleted, also the one that was just copied.
   */
  keep(lease: ResultLease, file: CopiedFile): Promise<'kept' | 'lost_claim' | 'over_quota' | 'being_deleted'>;
  /**
   * Ends an attempt that failed: it is repeated after `inMs`, or the result is lost where its time
   * is over or `inMs` is null. False when the claim was lost.
   */
  postpone(lease: ResultLease, change: { inMs: number | null; reason?: Sentence | undefined }): Promise<boolean>;
  /**
   * Makes others that end a result of this task wait for the transaction. Call it before anything
   * else there. False: the task is deleted.
   */
  lockTask(taskId: string): Promise<boolean>;
  /** Makes a lost or pending result due now, given up `forMs` from now. False: there is none. */
  retry(id: number, forMs: number): Promise<boolean>;
  /** Not an input. */
  find(taskId: string, artifactKey: string): Promise<KeptResultRecord | undefined>;
  /** All results of these tasks and their previews, without their inputs. */
  ofTasks(taskIds: readonly string[]): Promise<KeptResultRecord[]>;
  /**
   * Keeps the files of a task's request, in the transaction that inserts it, or a relayed answer,
   * in the one that bills it. False: they do not fit into the quota, or one is being deleted; then
   * nothing was written.
   */
  keepFiles(kept: NewKeptFiles): Promise<boolean>;
  /** The kept files of a task's request. */
  listInputs(taskId: string): Promise<KeptResultRecord[]>;
  /** Forgets them and releases their files. Returns how many there were. */
  forgetInputs(taskId: string): Promise<number>;
  /** Forgets the files that a task was sent with after it had waited (`heldKey`), as above. */
  releaseHeld(taskId: string): Promise<number>;
  /** Does so for tasks that no longer wait, where a process died before it called `releaseHeld`. */
  releaseAbandoned(limit: number): Promise<number>;
  /** Forgets all results of a task and releases their files. Returns how many there were. */
  forget(taskId: string): Promise<number>;
  /** Forgets about `limit` results whose `keptUntil` has passed. */
  forgetExpired(until: number, limit: number): Promise<number>;
  /** Forgets about `limit` results of users who were deleted. */
  forgetOfDeletedUsers(limit: number): Promise<number>;
  /**
   * Bytes of what a user keeps, previews included, and the number of results. Neither kept answers
   * nor files of requests that wait count, here and in `usageByUser`.
   */
  usage(userId: number): Promise<{ bytes: number; results: number }>;
  /**
   * Bytes of the kept results of each user that has any and is not deleted, and their own wallet.
   */
  usageByUser(): Promise<{ userId: number; walletId: number; group: string; bytes: number }[]>;
  /**
   * Counts over all users; `lost` since `lostSince`, by its creation. Previews count among the
   * files alone.
   */
  depth(lostSince: number): Promise<{ pending: number; kept: number; lost: number; bytes: number; files: number }>;
  /** Kept files after a digest, in order of the digest. */
  files(after: string, limit: number): Promise<{ sha256: string; bytes: number; refs: number }[]>;
  /** Which of these files have a row. */
  knownFiles(digests: readonly string[]): Promise<string[]>;
  /**
   * Takes files that nothing has needed since before `until` and marks them as being deleted.
   * Files that a dead process left so marked are returned again once that was before `until`.
   */
  takeUnused(until: number, limit: number): Promise<string[]>;
  /**
   * Marks a file without a row as being deleted, so that no result can begin to need it. False when
   * it has a row.
   */
  takeOrphan(sha256: string, at: number): Promise<boolean>;
  /** Forgets a file that was marked as being deleted and is gone. */
  deleted(sha256: string): Promise<void>;
  /** Ends this owner's claims without an attempt (a node that stops). */
  releaseOwner(owner: string): Promise<number>;
  /** Ends all claims: those of an earlier process of the same SQLite database. */
  expireLeases(): Promise<number>;
}

/** The `kind` of a preview among the kept results. */
export const PREVIEW_KIND = 'preview';

/**
 * Previews are kept results whose key is `preview:` and that of their artifact: they are claimed,
 * served, released and swept as such. Here is what differs.
 */
export interface PreviewStore {
  /**
   * Adds previews of one task that the gateway is to make, as `ResultStore.schedule` does. False
   * where the task is gone or hidden: then nothing was written.
   */
  schedule(previews: readonly PendingResult[], forMs: number): Promise<boolean>;
  /**
   * Keeps a preview that somebody else made, unless one is kept: a node that is making one loses
   * its claim. `no_task`: the task is gone, hidden or another user's. Otherwise as
   * `ResultStore.keep`; nothing is written unless `kept`.
   */
  add(
    preview: PendingResult,
    file: CopiedFile,
  ): Promise<'kept' | 'exists' | 'no_task' | 'over_quota' | 'being_deleted'>;
  /** The kept previews of these tasks, each task's in the order in which they came. */
  ofTasks(taskIds: readonly string[]): Promise<KeptResultRecord[]>;
  /** Bytes of all previews, and the user who has the most of them. */
  usage(): Promise<{ bytes: number; largestUserId: number | undefined }>;
  /** Forgets about `limit` previews of a user, the oldest first, and releases their files. */
  forgetOldest(userId: number, limit: number): Promise<number>;
}
