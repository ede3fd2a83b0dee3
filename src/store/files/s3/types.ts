import type { Result } from '../../../kernel/index.ts';
import type { FileFault } from '../../ports/index.ts';

/** A bucket, or a part of one, on a server that speaks S3. */
export type BucketLocation = {
  bucket: string;
  /** Before each key, without slashes at its ends; may be empty. */
  prefix: string;
  /** Scheme, host and port of the server. */
  endpoint: string;
  region: string;
  /** `endpoint/bucket/key`, not `bucket.endpoint/key`. */
  pathStyle: boolean;
  /** Encryption that the server is asked for; empty: as the bucket says. */
  sse: '' | 'AES256' | 'aws:kms';
};

export type BucketCredentials = { accessKeyId: string; secretAccessKey: string };

/** Bytes that are read when they are sent; each attempt reads them again. */
type SentBytes = { size: number; stream: () => AsyncIterable<Uint8Array> };

type SentRequest = {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: { kind: 'none' } | { kind: 'text'; text: string } | { kind: 'pieces'; pieces: SentBytes[] };
  maxResponseBytes: number;
  signal?: AbortSignal;
};

export type BucketAnswer = {
  status: number;
  /** Lower-case names. */
  headers: Record<string, string[]>;
  bytes(): Promise<Result<Uint8Array, { kind: string }>>;
  text(): Promise<Result<string, unknown>>;
  stream(): ReadableStream<Uint8Array>;
  /** Releases a body that nobody reads. */
  discard(): void;
};

/**
 * Sends one request, with limits of time, to a server that may be private. Never rejects and
 * follows no redirect.
 */
export type SendToBucket = (request: SentRequest) => Promise<Result<BucketAnswer, { kind: string }>>;

export type BucketRequest = {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Below the location's prefix. Without it the request is for the bucket. */
  key?: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: string | (SentBytes & { sha256: string });
  /** How often it is sent at most. */
  attempts?: number;
  signal?: AbortSignal;
};

/** `code`: what the server calls it; empty without an answer. `status` is 0 then. */
export type BucketFault = FileFault & { status: number; code: string };
