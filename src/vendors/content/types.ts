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
