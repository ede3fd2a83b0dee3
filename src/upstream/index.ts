/**
 * Owns: all outbound traffic: HTTP with address filter, redirect policy, size caps and timeouts,
 * and mail. May touch: sockets and name resolution. Never touches: the database, plugins, users.
 *
 * A request goes through `create-upstream.ts` → `check-request.ts` → `send-once.ts`, which takes a
 * connection (`open-connections.ts`, `connection-pool.ts`) or opens one (`dial.ts`, by
 * `check-address.ts`, `happy-eyeballs.ts`, `proxies.ts`, `open-tunnel.ts`), writes
 * (`write-request.ts`) and reads (`read-response.ts`, `parse-answer.ts`, `answer-body.ts`,
 * `content-encodings.ts`). `failures.ts` says what went wrong, `watch-deadlines.ts` what took too
 * long. `mail/`: SMTP. `provider-requests.ts`, `service-account-tokens.ts`: sign-in and Google.
 */

export { canonicalHost, checkAddress, isInRanges, readBaseAddress, readRange } from './check-address.ts';
export { isFieldValue, isHeaderName, isHostHeader, MAX_HEADERS } from './check-request.ts';
export { decodeBody, decodedStream, findDecoder, readEncodings } from './content-encodings.ts';
export { createUpstream, type UpstreamOptions } from './create-upstream.ts';
export { MAX_RETRY_AFTER_MS, retryAfterMs } from './failures.ts';
export { createSendMail } from './mail/send-mail.ts';
export type * from './mail/types.ts';
export { type CallProvider, openProvider, type ProviderAnswer, type ProviderRequest } from './provider-requests.ts';
export {
  configuredNetwork,
  describeProxy,
  type Network,
  type NetworkConfig,
  type ProxyServer,
  parseDirectHosts,
  parseProxy,
} from './proxies.ts';
export {
  createServiceAccountTokens,
  type ServiceAccountToken,
  type ServiceAccountTokens,
} from './service-account-tokens.ts';
export type * from './types.ts';
