import type { Clock, Json, Logger } from '../kernel/index.ts';
import type { FileStore, Store, StoredFile } from '../store/ports/index.ts';

export type FileDeps = {
  store: Store;
  clock: Clock;
  logger: Logger;
  storage: ResultStorage;
};

/** What administrators decide about kept results; may change while the gateway runs. */
export type ResultSettings = {
  /** `off`: results are handed through. `asked`: those are kept whose request or API key asks. */
  keep: 'off' | 'asked' | 'all';
  /** Whether the files of requests are kept, so that their tasks can be run again. */
  keepInputs: boolean;
  /** Days for which the results of a group's users are kept; 0: without end. */
  daysFor(group: string): number;
  /** Bytes that a user of a group may keep; undefined: no limit. */
  storageQuotaFor(group: string): number | undefined;
  /** USD for a GB (10^9 bytes) and day that users of a group pay; 0: nothing. */
  usdPerGbDayFor(group: string): number;
  /** Whether downloads are redirected to the storage, where that makes links. */
  redirects: boolean;
  /** Bytes that all previews together may take; 0: no previews are kept. */
  previewBytes: number;
};

/** Where files are kept, and what administrators decide about it. */
export type ResultStorage = {
  files: FileStore;
  settings: () => ResultSettings;
  /** RESULTS_MAX_FILE_MB in bytes. */
  maxFileBytes: number;
};

/** A file of the client's multipart body. Plugin code never sees its bytes. */
export type RequestFile = {
  /** `request_file:<field>`; from a field's second file on `request_file:<field>#<index>`. */
  ref: string;
  field: string;
  filename: string;
  /** The part's own Content-Type as sent; may be empty. */
  mimeType: string;
  size: number;
  /** Set for a file of an earlier task that is kept, and stands there already. */
  stored?: StoredFile;
  /**
   * Reads the whole file from its beginning; works until the request is released. A chunk is valid
   * until you ask for the next.
   */
  stream: () => AsyncIterable<Uint8Array>;
};

/**
 * Long Base64 strings of a JSON body, kept out of memory and out of plugins. Each is replaced by a
 * token (`fileToken`), which begins with the unguessable `prefix`.
 */
export type ExtractedFiles = { prefix: string; files: readonly ExtractedFile[] };

export type ExtractedFile = {
  /** Bytes of the Base64, as it stood between the quotes of the JSON text. */
  size: number;
  /** Bytes of the file after decoding. */
  decodedSize: number;
  /** The Base64 contains line breaks, escaped as in JSON. */
  hasLineEnds: boolean;
  /** As in `RequestFile`, for what stood between the quotes. */
  stored?: StoredFile;
  /**
   * Reads what stood between the quotes from its beginning; works until the request is released. A
   * chunk is valid until you ask for the next.
   */
  stream: () => AsyncIterable<Uint8Array>;
};

export type RequestBody =
  /** `text`: as sent, if it may be forwarded: its numbers need not fit into `value`. */
  | { kind: 'json'; value: Json; text?: string; extracted?: ExtractedFiles }
  | { kind: 'form'; fields: Record<string, string[]> }
  | { kind: 'multipart'; fields: Record<string, string[]>; files: RequestFile[] }
  | { kind: 'none' };
