import type { JsonObject } from '../../kernel/index.ts';
import type { RelayKind, RelayPartKind } from '../../store/ports/index.ts';
import type { Content } from '../artifacts/types.ts';
import type { ClientRequest } from '../types.ts';

/** A client's request that creates an object. `headers`: the client's, with lower-case names. */
export type RelayedRequest = {
  kind: RelayKind;
  requestId: string;
  client: ClientRequest;
  headers: Record<string, string>;
};

/** What the gateway itself reads of a request that it relays. */
export type RelayIntent = {
  kind: RelayKind;
  model: string;
  /** The client asked for server-sent events. */
  stream: boolean;
  /** Usage facts for prices that call `u()`. */
  facts: JsonObject;
  /** Objects that the request builds on; each must be the caller's own. */
  references: Reference[];
};

/** An object that a request names. `param`: the member of the body that names it. */
export type Reference = { param: string; kind: RelayKind | RelayPartKind; objectId: string };

/** A client's call on an object that a vendor created for it. */
export type RelayCall = {
  operation: 'retrieve' | 'content' | 'cancel' | 'delete';
  /** Sends HEAD instead of GET. */
  headersOnly?: boolean;
  query: Record<string, string[]>;
  /** Lower-case names; only the safe ones are used. */
  headers: Record<string, string>;
  signal: AbortSignal;
};

/**
 * What a client gets of a vendor's answer. `replayed`: it answers an earlier request with the same
 * Idempotency-Key.
 */
export type RelayAnswer = Content & { replayed: boolean };
