import type { Result, Sentence } from '../kernel/index.ts';
import type { ProxyServer } from './proxies.ts';

/**
 * `size` bytes that are read when they are sent; each attempt reads them again. A chunk is valid
 * until the next one is requested.
 */
export type StreamedBytes = { size: number; stream: () => AsyncIterable<Uint8Array> };

export type MultipartPart =
  | { name: string; value: string }
  /** A value with streamed parts. */
  | { name: string; pieces: (string | StreamedBytes)[] }
  | ({ name: string; filename: string; contentType: string } & StreamedBytes);

export type UpstreamBody =
  | { kind: 'none' }
  | { kind: 'text'; text: string }
  /** Streamed in order; the total length is announced. */
  | { kind: 'pieces'; pieces: (string | StreamedBytes)[] }
  /** Streamed; the client sets the boundary and the Content-Type header. */
  | { kind: 'multipart'; parts: MultipartPart[] };

/** A step on the way to a host, in this order. `proxy`: its address, without credentials. */
export type NetworkStep =
  | { at: 'begin'; proxy: string | undefined }
  /** Without addresses: the proxy is asked for the name. */
  | { at: 'name'; host: string; addresses: string[] }
  | { at: 'proxy' }
  | { at: 'connected' }
  /** `authority` issued the certificate, which ends at `until`, an ISO date. */
  | { at: 'tls'; authority: string; until: string };

export type UpstreamRequest = {
  /** Absolute http(s) URL without user info. */
  url: string;
  method: string;
  headers: Record<string, string>;
  body: UpstreamBody;
  /**
   * Canonical hosts (`host`, or `host:port` if the port is not the scheme's default) that may be
   * private or loopback: the channel's own base host, never more.
   */
  privateHosts: readonly string[];
  /**
   * Whether an administrator has chosen a host. Only then is a proxy asked for its name; other
   * names are resolved here, and the proxy is asked for the checked address.
   */
  isKnownHost?: (url: URL) => boolean;
  /** The proxy of this request; null: none. Absent: that of the gateway. */
  proxy?: ProxyServer | null | undefined;
  /**
   * 0: a redirect is returned as it is. Otherwise each hop must satisfy `allowRedirect` and may not
   * leave https.
   */
  maxRedirects: number;
  /**
   * Without it only the same origin is followed. Another origin gets neither the body nor the
   * headers of the request.
   */
  allowRedirect?: (url: URL) => boolean;
  /**
   * Lower-case names of headers that go to other origins too: range and conditional headers, never
   * a credential.
   */
  headersForEveryOrigin?: readonly string[];
  /** Until connected: name lookup, wait for a free connection, TCP, TLS. */
  connectTimeoutMs: number;
  /** From then, or from the last sent piece of the body, until the response's headers. */
  headersTimeoutMs: number;
  /**
   * Between two chunks of the body. `bytes()` and `text()` take at most four times as long in
   * total.
   */
  idleTimeoutMs: number;
  /**
   * False: it may buy something whatever its method is, and is never sent again. Without it a GET
   * or HEAD is, if the vendor had closed the connection.
   */
  mayRepeat?: boolean;
  /** Called at each step of the way; the request then has a connection of its own. */
  onStep?: (step: NetworkStep) => void;
  /** Aborts a larger body, decoded or not; `Infinity` for streamed content. */
  maxResponseBytes: number;
  signal?: AbortSignal;
};

export type UpstreamResponse = {
  status: number;
  /** Lower-case names; repeated headers keep their values apart. */
  headers: Record<string, string[]>;
  /** The URL that answered, after redirects. */
  url: string;
  /** Reads the whole body, decoded, up to `maxBytes`, and never more than `maxResponseBytes`. */
  bytes(maxBytes?: number): Promise<Result<Uint8Array, UpstreamFailure>>;
  /** Reads the whole body as UTF-8; invalid bytes are replaced. */
  text(): Promise<Result<string, UpstreamFailure>>;
  /**
   * For content that is passed on, in its original encoding; errors end the stream. `onEnd` is
   * called once, however it ends.
   */
  stream(onEnd?: () => void): ReadableStream<Uint8Array>;
  /**
   * The first bytes, decoded, which stay to be read: as many as `isEnough` wants, and fewer where
   * the body ends, fails, or has no more within 4 KiB.
   */
  peek(isEnough: (bytes: Uint8Array) => boolean): Promise<Uint8Array>;
  /** Releases a body that nobody reads. */
  discard(): void;
};

/** Its message is safe to show: no URL, no header, no credential. */
export type UpstreamFailure = Sentence & {
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
};

/**
 * All outbound HTTP. Checks addresses when the connection is made, keeps connections alive, and
 * goes through the proxies that are named to it; the usual variables of the environment are not
 * read.
 */
export interface Upstream {
  request(request: UpstreamRequest): Promise<Result<UpstreamResponse, UpstreamFailure>>;
  close(): Promise<void>;
}
