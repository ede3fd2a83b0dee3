import type { ApiKeyRecord, UserRecord } from '../store/ports/index.ts';

/** Who speaks on a panel route. `origin`: where the request came from, where it was one. */
export type PanelPrincipal = { origin?: RequestOrigin } & (
  | { kind: 'session'; user: UserRecord; sid: string; sessionVersion: number }
  | { kind: 'pat'; user: UserRecord }
);

/** Who speaks on an API-key route. `group` is the key's own, else the user's. */
export type ApiPrincipal = { kind: 'api_key'; user: UserRecord; key: ApiKeyRecord; group: string };

/**
 * The address by which a request may be refused: limits, `allow_ips` of API keys. A type of its
 * own, so that no code decides by the address that is only shown. The HTTP room alone makes one.
 */
export type DecidingIp = string & { readonly decides: true };

/** Where a request comes from. */
export type RequestOrigin = {
  /** By the specification's rules for proxies: for logs, sessions and people's eyes. */
  ip: string;
  /** The same once `TRUSTED_PROXIES` is set; until then only a proxy on loopback is believed. */
  decidingIp: DecidingIp;
  userAgent: string;
};

/** Of what a command does on this machine, without a request. */
export const localOrigin = (userAgent: string): RequestOrigin => ({
  ip: '127.0.0.1',
  decidingIp: '127.0.0.1' as DecidingIp,
  userAgent,
});
