import type { Result } from '../kernel/index.ts';

/**
 * Bytes that are fetched when it is their turn, `size` of them; asked for anew by each attempt. A
 * chunk is good until the next is asked for.
 */
export type StreamedBytes = { size: number; stream: () => AsyncIterable<Uint8Array> };

export type MultipartPart =
  | { name: string; value: string }
  /** A value of which parts are streamed. */
  | { name: string; pieces: (string | StreamedBytes)[] }
  | ({ name: string; filename: string; contentType: string } & StreamedBytes);

export type UpstreamBody =
  | { kind: 'none' }
  | { kind: 'text'; text: string }
  /** Streamed one after another, with the length of them all announced. */
  | { kind: 'pieces'; pieces: (string | StreamedBytes)[] }
  /** Streamed; the boundary and the Content-Type header are the client's. */
  | { kind: 'multipart'; parts: MultipartPart[] };

export type UpstreamRequest = {
  /** Absolute http(s) URL without user info. */
  url: string;
  method: string;
  headers: Record<string, string>;
  body: UpstreamBody;
  /**
   * Canonical hosts (`host`, or `host:port` where the port is not the scheme's default) that may be
   * private or loopback: the channel's own base host, never more.
   */
  privateHosts: readonly string[];
  /**
   * 0: a redirect is handed back as it is. Otherwise each hop must satisfy `allowRedirect` and may
   * not leave https.
   */
  maxRedirects: number;
  /**
   * Without it only the same origin is followed. No header and no body of the request go to another
   * origin.
   */
  allowRedirect?: (url: URL) => boolean;
  /**
   * Lower-case names of headers that go to other origins too: what asks for a part of a body or for
   * news, never a credential.
   */
  headersForEveryOrigin?: readonly string[];
  /** Until the connection stands: name lookup, wait for a free connection, TCP, TLS. */
  connectTimeoutMs: number;
  /** From then, or from the last piece of a body that was sent, until the response's headers. */
  headersTimeoutMs: number;
  /**
   * Between two chunks of the body; `bytes()` and `text()` as a whole take at most four times as
   * long.
   */
  idleTimeoutMs: number;
  /** Aborts the body beyond this, decoded or not; `Infinity` for streamed content. */
  maxResponseBytes: number;
  signal?: AbortSignal;
};

export type UpstreamResponse = {
  status: number;
  /** Lower-case names; repeated headers keep their values apart. */
  headers: Record<string, string[]>;
  /** The URL that answered, after redirects. */
  url: string;
  /** Reads all of it, decoded, up to `maxResponseBytes`. */
  bytes(): Promise<Result<Uint8Array, UpstreamFailure>>;
  /** The same as UTF-8; what is none is replaced. */
  text(): Promise<Result<string, UpstreamFailure>>;
  /**
   * For content that passes through, in the encoding that came; errors end the stream. `onEnd`
   * hears once that it is over, however.
   */
  stream(onEnd?: () => void): ReadableStream<Uint8Array>;
  /** Lets go of a body that nobody reads. */
  discard(): void;
};

export type UpstreamFailure = {
  kind:
    | 'refused' // our own rules: address, scheme, header, redirect
    | 'dns'
    | 'connect'
    | 'tls'
    | 'broken' // the connection ended before the answer was complete
    | 'timeout'
    | 'too_large'
    | 'aborted';
  /** True only when not one byte of the request can have reached the vendor. */
  notSent: boolean;
  /** Safe to show: no URL, no header, no credential. */
  message: string;
};

/**
 * The only way out. Checks addresses when the connection is made, follows no proxy variables, keeps
 * connections alive.
 */
export interface Upstream {
  request(request: UpstreamRequest): Promise<Result<UpstreamResponse, UpstreamFailure>>;
  close(): Promise<void>;
}
