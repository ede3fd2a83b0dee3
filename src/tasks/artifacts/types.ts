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

export type ContentRequest = {
  method: 'GET' | 'HEAD';
  /** Lower-case names; only the safe ones are used. */
  headers: Record<string, string>;
  signal: AbortSignal;
  /** Called when a streamed body has ended, was cut off, or is no longer read. */
  onStreamEnd?: () => void;
  requestId: string;
};

/** What a vendor answered. */
export type VendorContent = {
  status: number;
  headers: Record<string, string>;
  body: ReadableStream<Uint8Array> | Uint8Array | null;
};

/** The same, or a kept copy: a `Blob` is sent by the operating system. */
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
