import type { Channels, VendorAccount } from '../channels/index.ts';
import type { RequestBody } from '../files/index.ts';
import type { Clock, Json, JsonObject, Redactor, Result } from '../kernel/index.ts';
import type { ChannelRecord, TaskRecord } from '../store/ports/index.ts';
import type { ServiceAccountTokens, UpstreamFailure, UpstreamRequest, UpstreamResponse } from '../upstream/index.ts';

/** What an exchange with a vendor needs. */
export type VendorDeps = {
  clock: Clock;
  send: SendToVendor;
  serviceAccounts: ServiceAccountTokens;
  channels: Channels;
  callbacks: VendorCallbacks;
  /** All known addresses of this gateway. */
  ownAddresses: () => readonly string[];
  /** What texts must not show of channels' keys. */
  keySecrets: FindKeySecrets;
  /** Limits downloads and streams with an API key. */
  downloads: DownloadLimit;
};

/** Sends a request the way that its channel names: by its proxy, and with its headers. */
export type SendToVendor = (
  channel: ChannelRecord,
  request: UpstreamRequest,
) => Promise<Result<UpstreamResponse, UpstreamFailure>>;

/**
 * What the keys of a channel are known by in texts; `certain`: without what could be an id, and
 * what replaces that.
 */
export type KeySecrets = Record<'all' | 'certain', readonly string[]> & { redactCertain: Redactor };

/** Finds the secrets of a channel's keys. Every poll needs them, so they are computed once. */
export type FindKeySecrets = (account: VendorAccount) => KeySecrets;

/**
 * Limits what flows from a vendor to clients with an API key, so that one user cannot take all
 * connections to a vendor.
 */
export type DownloadLimit = {
  /**
   * Takes the slots of a download or stream and returns their release.
   * @throws tasks.artifact_access_limited for a download, tasks.rate_limit_exceeded for a stream;
   * the message names the limit
   */
  acquire(userId: number, what: 'download' | 'stream'): () => void;
};

/** What a client sent, parsed, before a plugin decodes it. */
export type ReceivedRequest = {
  method: string;
  path: string;
  params: Record<string, string>;
  query: Record<string, string[]>;
  contentType: string;
  accept: string;
  body: RequestBody;
};

/** The decoded request, in the same shape for every surface. */
export type Intent = { model: string; action: string; requestBody: Json | undefined };

/**
 * Earlier tasks that a submission builds on, in the decoder's order, and the one account that made
 * them.
 */
export type OriginTasks = { tasks: readonly TaskRecord[]; channelId: number; credentialId: number };

export type CredentialContext = { auth: JsonObject; authHeader: string; apiKey?: string; authError?: string };

/** Addresses at which a vendor may say that a task has changed: one for each task. */
export type VendorCallbacks = {
  /** Undefined while the gateway knows no public address of its own. */
  address(taskId: string): string | undefined;
  isGenuine(taskId: string, token: string): boolean;
};

export type ContentRequest = {
  method: 'GET' | 'HEAD';
  /** Lower-case names; only the safe ones are used. */
  headers: Record<string, string>;
  signal: AbortSignal;
  /** Called when a streamed body has ended, was cut off, or is no longer read. */
  onStreamEnd?: () => void;
  requestId: string;
  /** It may be answered with a redirect to the place of kept results: a client downloads it. */
  followsRedirect?: true;
};

/** What a vendor answered. */
export type VendorContent = {
  status: number;
  headers: Record<string, string>;
  body: ReadableStream<Uint8Array> | Uint8Array | null;
};
