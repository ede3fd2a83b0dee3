import type { Hold } from '../billing/index.ts';
import type { VendorAccount } from '../channels/index.ts';
import type { JsonObject } from '../kernel/index.ts';
import type {
  NewRelay,
  RelayKind,
  RelayObjectKind,
  RelayPartKind,
  RelayRecord,
  RequestedVideo,
} from '../store/ports/index.ts';
import type { Caller, ClientRequest, TaskDeps } from '../tasks/index.ts';
import type { UpstreamResponse } from '../upstream/index.ts';
import type { VendorContent } from '../vendors/index.ts';
import type { AccountRequestLimits } from './limit-account-requests.ts';
import type { OwnerRequestLimits } from './limit-owner-requests.ts';

export type RelayDeps = TaskDeps & { shared: RelayShared };

export type RelayLinks = {
  /** A link to a video that a request has made, which needs no key; undefined: none can be made. */
  linkVideo(made: Pick<RelayRecord, 'relayId' | 'userId'>): Promise<string | undefined>;
};

/** State that the relayed requests of this node share. */
export type RelayShared = RelayLinks & {
  settlements: Settlements;
  accountLimits: AccountRequestLimits;
  ownerLimits: OwnerRequestLimits;
  /** Aborted when the gateway stops: no stream is read on then whose client has left. */
  stopping: AbortSignal;
  /** Models that have reported far more than the text that came, by channel. */
  thinkingModels: Set<string>;
};

/** Bills that are written after their request was answered. */
export type Settlements = {
  /** Nobody waits for it: its failure is logged. */
  track(settlement: Promise<unknown>): void;
  /** Settles when all of them have. */
  all(): Promise<void>;
};

/** A client's request for an answer of a vendor. `headers`: the client's, with lower-case names. */
export type RelayedRequest = {
  kind: RelayKind;
  requestId: string;
  client: ClientRequest;
  headers: Record<string, string>;
  remix?: RemixSource;
  follow?: Follow;
};

/** Given for a request that its client may follow as a task. */
export type Follow = {
  /** A header asks for it. */
  isPreferred: boolean;
  /** Called with work that goes on after the answer and reads the files of the request. */
  goesOn(work: Promise<void>): void;
};

/** A request as it is known before a channel is chosen. */
export type Creation = { caller: Caller; request: RelayedRequest; intent: RelayIntent };

/** The relayed video that a request changes: its model and the facts of its bill hold for both. */
export type RemixSource = { id: string; model: string; facts: JsonObject; video: RequestedVideo | undefined };

/** The parts of a relayed request that the gateway itself reads. */
export type RelayIntent = {
  kind: RelayKind;
  model: string;
  /** The client asked for server-sent events. */
  stream: boolean;
  /** The members of the request, those of a form as well. */
  values: JsonObject;
  /** The client did not ask for the usage of the stream: where the gateway does, it is hidden. */
  hidesUsage: boolean;
  /** Usage facts for prices that call `u()`. */
  facts: JsonObject;
  /** Objects that the request builds on; each must be the caller's own. */
  references: Reference[];
  /** The client does not wait: it follows the request as a task. */
  isFollowed: boolean;
  /** Members that the gateway heeds itself: the vendor does not get them. */
  ownMembers: readonly string[];
};

/**
 * A request that is being served. With `hold`, its reservation is held in memory, and its `row` is
 * stored at its end.
 */
export type OpenRelay = RelayRecord & { hold?: (Hold & { row: Omit<NewRelay, 'leaseForMs'> }) | undefined };

/** A vendor's answer, and the request that it belongs to. */
export type Delivery = {
  caller: Caller;
  request: RelayedRequest;
  intent: RelayIntent;
  account: VendorAccount;
  relay: OpenRelay;
  response: UpstreamResponse;
  /** The client gets the stream without the usage that the gateway asked for. */
  hidesUsage: boolean;
  /** Frees the client's slot. */
  onStreamEnd: () => void;
  /** Ends the lease of the request, once its bill is written and its answer read. */
  release: () => Promise<void>;
};

/** How an answer ended: on its own, by a fault, or because the gateway stopped reading it. */
export type AnswerEnd = 'ended' | 'broke' | 'cut';

/** An object that a request names. `param`: the member of the body that names it. */
export type Reference = { param: string; kind: RelayObjectKind | RelayPartKind; objectId: string };

/** A client's call on an object that a vendor created for it. */
export type RelayCall = {
  operation: 'retrieve' | 'content' | 'cancel' | 'delete' | 'input_items';
  /** Sends HEAD instead of GET. */
  headersOnly?: boolean;
  query: Record<string, string[]>;
  /** Lower-case names; only the safe ones are used. */
  headers: Record<string, string>;
  signal: AbortSignal;
};

/**
 * A vendor's answer as the client gets it. `replayed`: it answers an earlier request with the same
 * Idempotency-Key.
 */
export type RelayAnswer = VendorContent & { replayed: boolean };
