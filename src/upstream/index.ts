/**
 * Owns: everything that leaves this machine: outbound HTTP with address filter, redirect policy, size caps and timeouts.
 * May touch: sockets and name resolution. Never touches: the database, plugins, users.
 */
export { canonicalHost } from './canonical-host.ts';
export { isFieldValue, isHeaderName, isHostHeader, MAX_HEADERS } from './check-request.ts';
export { createUpstream, type UpstreamOptions } from './create-upstream.ts';
export type * from './types.ts';
