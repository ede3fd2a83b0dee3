import type { SmallFiles } from '../files/index.ts';
import type { Sentence } from '../kernel/index.ts';
import type { TaskDeps } from '../tasks/index.ts';
import type { ContentRequest, VendorContent } from '../vendors/index.ts';

/** Why a result was not kept, in words for its owner, and when to try again; null: never. */
export type CopyFailure = {
  /** Absent: nothing that the owner of the result should know. */
  reason?: Sentence;
  inMs: number | null;
  /** The result storage takes nothing at the moment: for administrators. */
  storageError?: Sentence;
};

/** Dependencies inside the room. */
export type ResultDeps = Pick<
  TaskDeps,
  'store' | 'clock' | 'logger' | 'vendors' | 'pin' | 'storage' | 'telemetry' | 'node'
> & {
  links: LinkDeps;
  memory: {
    /** Addresses of artifacts that plugins have looked up. */
    resolvedLinks: ResolvedLinks;
    /** Small kept files. */
    smallFiles: SmallFiles;
  };
  /** Call after the commit that writes a notice. */
  wakeWebhooks: () => void;
  /** The video that a relayed request has made, by the id of the request. */
  findRelayed: (relayId: string) => Promise<RelayedVideo | undefined>;
};

/** A relayed video: its vendor has the content. */
type RelayedVideo = {
  userId: number;
  createdAt: number;
  open(client: ContentRequest): Promise<VendorContent>;
};

/** An address that a look-up found, and the seconds that it works for. */
export type FoundLink = { url: string; seconds: number };

export type ResolvedLinks = {
  /** The remembered address, while it lasts. */
  find(id: string): string | undefined;
  forget(id: string): void;
  /** Looks an address up; requests for the same one at the same time share the look-up. */
  resolve(id: string, lookUp: () => Promise<FoundLink | undefined>): Promise<string | undefined>;
};

/** What makes links to artifacts, and opens them. */
export type LinkDeps = {
  limits: LinkLimits;
  /** CRYPTO_SECRET and its predecessors: sign and verify links. */
  secrets: readonly [string, ...string[]];
  /** TaskPublicAddress, else ServerAddress, without a trailing slash. Undefined: no links. */
  publicAddress: () => string | undefined;
  guard: LinkLimit;
  verified: VerifiedLinks;
};

/** The signed terms of a link. */
export type LinkTerms = {
  /** Expiry in Unix seconds; 0: the link itself names none. */
  expiresAt: number;
  /** The `linkVersion` of the task's owner when the link was made. */
  version: number;
  /** The version of the artifact's links in its task when the link was made; absent: 0. */
  taskVersion?: number;
};

export type VerifiedLink = {
  readonly terms: LinkTerms;
  /** A hint: the artifact was kept at the last download. */
  wasKept: boolean;
};

export type VerifiedLinks = {
  /** A genuine link, undefined for any other. Whether it still opens something is decided later. */
  verify(artifact: { taskId: string; artifactKey: string }, presented: string): VerifiedLink | undefined;
};

export type LinkLimits = {
  /** TASK_ARTIFACT_LINK_DAYS: how long a link lasts; 0: it never expires. */
  days: number;
  /** TASK_ARTIFACT_INVALID_RATE_LIMIT_PER_MINUTE: links that do not verify, per address. */
  invalidPerMinute: number;
  /**
   * TASK_ARTIFACT_*_CONCURRENCY: concurrent downloads of this node, of one address (with API keys:
   * of one user) and of one artifact.
   */
  downloads: { node: number; address: number; artifact: number };
};

/**
 * Limits for clients that have a link and no key. `address` is the client's, as limits count it.
 */
export type LinkLimit = {
  /**
   * Counts a link that does not verify.
   * @throws tasks.artifact_access_limited after too many within a minute
   */
  countInvalid(address: string): Promise<void>;
  /**
   * Takes the slots of a download and returns their release.
   * @throws tasks.artifact_access_limited when too many downloads are running
   */
  acquire(download: { address: string; artifact: string }): () => void;
};

/** A vendor's content, or a kept copy: a `Blob` is sent by the operating system. */
export type Content = Omit<VendorContent, 'body'> & {
  body: VendorContent['body'] | Blob;
  /** How long a client may use its copy without asking; absent: it must not store one. */
  maxAgeSeconds?: number;
  /** Several ranges of a kept result, in a multipart answer that the gateway has made. */
  isParts?: true;
};

/**
 * An artifact by its key, or by OpenAI's name for a variant of a video: `video` is the first
 * artifact of that type, any other the first with that type or key.
 */
export type ArtifactChoice = { key: string; variant?: undefined } | { variant: string };
