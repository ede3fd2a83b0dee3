import type { Channels } from '../channels/index.ts';
import type { RequestBody } from '../files/index.ts';
import type { Clock, Json, JsonObject } from '../kernel/index.ts';
import type { TaskRecord } from '../store/ports/index.ts';
import type { ServiceAccountTokens, Upstream } from '../upstream/index.ts';
import type { DownloadLimit } from './content/types.ts';
import type { FindKeySecrets } from './credentials/key-secrets.ts';

/** What an exchange with a vendor needs. */
export type VendorDeps = {
  clock: Clock;
  upstream: Upstream;
  serviceAccounts: ServiceAccountTokens;
  channels: Channels;
  /** All known addresses of this gateway. */
  ownAddresses: () => readonly string[];
  /** What texts must not show of channels' keys. */
  keySecrets: FindKeySecrets;
  /** Limits downloads and streams with an API key. */
  downloads: DownloadLimit;
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
 * Earlier tasks that a submission builds on, in the decoder's order, and the one channel that made
 * them.
 */
export type OriginTasks = { tasks: readonly TaskRecord[]; channelId: number };

export type CredentialContext = { auth: JsonObject; authHeader: string; apiKey?: string; authError?: string };
