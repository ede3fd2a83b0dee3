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
