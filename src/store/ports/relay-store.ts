/**
 * What the rooms may ask of the database about relayed requests. The rules for implementations are
 * those of `store.ts`.
 */
import type { BillingSnapshot } from './records.ts';

export type RelayKind = 'response' | 'video';
/** `OPEN`: reserved, and no answer yet. The two others are final. */
export type RelayStatus = 'OPEN' | 'BILLED' | 'REFUNDED';

/** A request that a type-1 channel passes on. */
export type RelayRecord = {
  id: number;
  /** `relay_…`: stands as task id in its ledger lines and usage rows. */
  relayId: string;
  kind: RelayKind;
  userId: number;
  apiKeyId: number | null;
  group: string;
  channelId: number;
  /** As the client named it. */
  model: string;
  status: RelayStatus;
  /** Reserved while it is open, final afterwards. */
  quota: number;
  billing: BillingSnapshot;
  requestId: string;
  /** Of the vendor's answer; 0: none came. */
  httpStatus: number;
  /** The node that waits for the answer. */
  leaseOwner: string;
  leaseUntilMs: number;
  createdAt: number;
  finishedAt: number;
};

export type NewRelay = Omit<RelayRecord, 'id' | 'status' | 'httpStatus' | 'leaseUntilMs' | 'finishedAt'> & {
  leaseForMs: number;
};

/**
 * What an answer names beside the object that it is: an item of its output, the container in which
 * a tool ran.
 */
export type RelayPartKind = 'item' | 'container';

/** What a vendor made for a relayed request. */
export type RelayObject<Kind extends RelayKind | RelayPartKind = RelayKind> = {
  /** As the vendor named it; unique among all that its host has made of this kind. */
  objectId: string;
  kind: Kind;
  /** The vendor's canonical host. */
  vendor: string;
  userId: number;
  channelId: number;
  relayId: string;
  createdAt: number;
};

/**
 * Who ends a request: the node that waits for its answer, or whoever finds that its lease has run
 * out. `reserved`: what he takes its quota to be, which a move to another channel may have changed
 * meanwhile.
 */
export type RelayClaim = { relayId: string; by: { owner: string } | 'anyone_after_expiry'; reserved: number };

export interface RelayStore {
  open(relay: NewRelay): Promise<RelayRecord>;
  byRelayId(relayId: string): Promise<RelayRecord | undefined>;
  /**
   * Prolongs the lease of a request from now: while it is open, and while the answer that it was
   * billed for is read. False when it was refunded.
   */
  renew(relayId: string, owner: string, leaseForMs: number): Promise<boolean>;
  /** The answer that a request was billed for has been read, or will not be. */
  release(relayId: string, owner: string): Promise<void>;
  /** Whether nobody holds a request any more: what is known of its answer is stored. */
  isDelivered(relayId: string): Promise<boolean>;
  /** Another channel takes an open request, with a lease anew. False when it has ended. */
  move(
    relayId: string,
    owner: string,
    change: Pick<RelayRecord, 'channelId' | 'quota' | 'billing'> & { leaseForMs: number },
  ): Promise<boolean>;
  /**
   * Ends an open request; one that is billed keeps its lease. False when it is not open, not the
   * caller's to end or another amount is reserved: nothing was written.
   */
  end(
    claim: RelayClaim,
    ending: Pick<RelayRecord, 'quota' | 'billing' | 'httpStatus' | 'finishedAt'> & {
      status: Exclude<RelayStatus, 'OPEN'>;
    },
  ): Promise<boolean>;
  /** Open requests whose lease has run out, the oldest first: their process died. */
  interrupted(limit: number): Promise<RelayRecord[]>;
  /** Ends every lease there is: the start of the only process of a SQLite database. */
  expireLeases(): Promise<number>;
  /** False when the vendor has given this name before, to whomever: then nothing was written. */
  addObject(object: RelayObject): Promise<boolean>;
  /** The same for parts of answers; a name that was given before stays whose it is. */
  addParts(parts: readonly RelayObject<RelayPartKind>[]): Promise<void>;
  /** The user's own object of this name, the latest where several vendors gave him the same. */
  ownObject(userId: number, kind: RelayKind, objectId: string): Promise<RelayObject | undefined>;
  /** Those of the names that are the user's own parts, the earliest first. */
  ownParts(userId: number, kind: RelayPartKind, names: readonly string[]): Promise<RelayObject<RelayPartKind>[]>;
  /** What a request has made, its parts left aside. */
  objectOf(relayId: string): Promise<RelayObject | undefined>;
  /**
   * Deletes about `limit` requests that ended at or before `endedUntil` (Unix seconds); gives how
   * many.
   */
  deleteEnded(endedUntil: number, limit: number): Promise<number>;
  /** The same for objects and parts made at or before `createdUntil`. */
  deleteObjects(createdUntil: number, limit: number): Promise<number>;
}
