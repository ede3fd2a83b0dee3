/** Requests that a channel relays, and the objects that vendors keep for them. */
import type { BillingSnapshot } from './task-records.ts';

/** The kinds of objects that vendors keep. */
export type RelayObjectKind = 'response' | 'video';

/** The kinds of requests. */
export type RelayKind = RelayObjectKind | 'chat' | 'embedding' | 'image' | 'image_edit' | 'speech' | 'transcription';

/**
 * Kinds whose work may take longer than a client waits, and of which no vendor keeps the answer:
 * the client may follow such a request as a task, or ask again with its Idempotency-Key.
 */
export const FOLLOWED_KINDS: readonly RelayKind[] = ['image', 'image_edit'];

/** `OPEN`: money is reserved and the bill is not known yet. The other two are final. */
export type RelayStatus = 'OPEN' | 'BILLED' | 'REFUNDED';

/** A request that a type-1 channel forwards. */
export type RelayRecord = {
  id: number;
  /** `relay_…`: serves as the task id in its ledger lines and usage rows. */
  relayId: string;
  kind: RelayKind;
  userId: number;
  /** What pays for it; null: one from before wallets, whose wallet has the user's id. */
  walletId: number | null;
  apiKeyId: number | null;
  group: string;
  channelId: number;
  /** The model name that the client sent. */
  model: string;
  status: RelayStatus;
  /** Reserved while the request is open; final afterwards. */
  quota: number;
  billing: BillingSnapshot;
  requestId: string;
  /** The HTTP status of the vendor's answer; 0: no answer came. */
  httpStatus: number;
  /** The node that waits for the answer. */
  leaseOwner: string;
  leaseUntilMs: number;
  createdAt: number;
  finishedAt: number;
  /** The credential of the channel; null: its first. */
  credentialId: number | null;
  /** When its user deleted it as a task; 0: they have not. */
  hiddenAt: number;
};

export type NewRelay = Omit<
  RelayRecord,
  'id' | 'status' | 'httpStatus' | 'leaseUntilMs' | 'finishedAt' | 'hiddenAt'
> & {
  walletId: number;
  leaseForMs: number;
};

/** A request of which nothing was stored before its end. */
export type EndedRelay = Omit<NewRelay, 'leaseForMs'> &
  Pick<RelayRecord, 'httpStatus' | 'finishedAt'> & { status: Exclude<RelayStatus, 'OPEN'> };

/**
 * A part of a response that later requests may reference: an output item, or the container in which
 * a tool ran.
 */
export type RelayPartKind = 'item' | 'container';

/** What a request for a video said: a vendor's object that lacks it is completed from this. */
export type RequestedVideo = { model: string; seconds?: string; size?: string; remixed_from_video_id?: string };

/** An object that a vendor created for a relayed request. */
export type RelayObject<Kind extends RelayObjectKind | RelayPartKind = RelayObjectKind> = {
  /** The vendor's id, unique among all objects of this kind that its host has created. */
  objectId: string;
  kind: Kind;
  /** The vendor's canonical host. */
  vendor: string;
  userId: number;
  channelId: number;
  relayId: string;
  createdAt: number;
  /** The credential of the channel; null: its first. */
  credentialId: number | null;
  /** What the request for a video said; absent for a video that is older than this. */
  video?: RequestedVideo;
};

/**
 * Who ends a request: the node that waits for its answer, or any node once the lease has expired.
 * `reserved`: the quota that the caller believes is reserved. A move to another channel may have
 * changed it.
 */
export type RelayClaim = { relayId: string; by: { owner: string } | 'anyone_after_expiry'; reserved: number };

export interface RelayStore {
  open(relay: NewRelay): Promise<RelayRecord>;
  /** Stores a request at its end, without a lease. False: it is stored already. */
  insertEnded(relay: EndedRelay): Promise<boolean>;
  byRelayId(relayId: string): Promise<RelayRecord | undefined>;
  /**
   * Extends the lease, counted from now: while the request is open, and while the answer that it
   * was billed for is read. False when it was refunded.
   */
  renew(relayId: string, owner: string, leaseForMs: number): Promise<boolean>;
  /** Ends the lease of a billed request: its answer has been read to the end, or was abandoned. */
  release(relayId: string, owner: string): Promise<void>;
  /** Whether no lease is held any more, so that everything known of the answer is stored. */
  isDelivered(relayId: string): Promise<boolean>;
  /** Moves an open request to another account, with a new lease. False when it has ended. */
  move(
    relayId: string,
    owner: string,
    change: Pick<RelayRecord, 'channelId' | 'credentialId' | 'quota' | 'billing'> & { leaseForMs: number },
  ): Promise<boolean>;
  /**
   * Ends an open request; a billed one keeps its lease. False when it is not open, the caller may
   * not end it, or another amount is reserved: then nothing was written.
   */
  end(
    claim: RelayClaim,
    ending: Pick<RelayRecord, 'quota' | 'billing' | 'httpStatus' | 'finishedAt'> & {
      status: Exclude<RelayStatus, 'OPEN'>;
    },
  ): Promise<boolean>;
  /**
   * Refunds a billed request whose job has failed since. False when it is not billed, or another
   * amount is: then nothing was written.
   */
  refundBilled(relayId: string, billed: number, ending: Pick<RelayRecord, 'billing' | 'finishedAt'>): Promise<boolean>;
  /**
   * Replaces the bill of a billed request, whose usage became known later. False when it is not
   * billed, or another amount is: then nothing was written.
   */
  rebill(relayId: string, billed: number, bill: Pick<RelayRecord, 'quota' | 'billing'>): Promise<boolean>;
  /**
   * A page of the user's requests that may be followed and are not hidden, by creation. `after`:
   * the request before the page, also one that was hidden since. Undefined when `after` is not the
   * user's.
   */
  pageByUser(
    userId: number,
    page: { after?: string; limit: number; order: 'asc' | 'desc' },
  ): Promise<RelayRecord[] | undefined>;
  /** Hides an ended request from its user. False: it is open, or hidden already. */
  hide(relayId: string, at: number): Promise<boolean>;
  /**
   * Open requests whose lease has expired because their process died, the oldest first. None of
   * `held`, which this process is serving, whatever the clock says.
   */
  interrupted(limit: number, held?: readonly string[]): Promise<RelayRecord[]>;
  /** Ends every lease: for the start of the only process of a SQLite database. */
  expireLeases(): Promise<number>;
  /** False when the vendor has already given this id, to any user: then nothing was written. */
  addObject(object: RelayObject): Promise<boolean>;
  /** Stores the owner of parts of answers. An id that exists keeps its owner. */
  addParts(parts: readonly RelayObject<RelayPartKind>[]): Promise<void>;
  /** The user's object with this id; the latest if several vendors gave the same id. */
  ownObject(userId: number, kind: RelayObjectKind, objectId: string): Promise<RelayObject | undefined>;
  /** The user's parts among these ids, the earliest first. */
  ownParts(userId: number, kind: RelayPartKind, names: readonly string[]): Promise<RelayObject<RelayPartKind>[]>;
  /** The object that a request has created, parts excluded. */
  findObject(relayId: string): Promise<RelayObject | undefined>;
  /**
   * Deletes about `limit` requests that ended at or before `endedUntil` (Unix seconds); returns
   * their number.
   */
  deleteEnded(endedUntil: number, limit: number): Promise<number>;
  /**
   * Deletes about `limit` objects and parts created at or before `createdUntil`; returns their
   * number.
   */
  deleteObjects(createdUntil: number, limit: number): Promise<number>;
}
