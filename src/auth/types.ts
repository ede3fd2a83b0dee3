import type { KeyOwner, PresentedKey, UserRecord } from '../store/ports/index.ts';

/**
 * The authenticated caller of a panel route. `origin` is set for HTTP requests. `tokenHash` is the
 * digest of a personal access token.
 */
export type PanelPrincipal = { origin?: RequestOrigin } & (
  | { kind: 'session'; user: UserRecord; sid: string; sessionVersion: number }
  | { kind: 'pat'; user: UserRecord; tokenHash: string }
);

/**
 * The authenticated caller of an API-key route. `group` is the key's own, else the user's.
 * `keyHash` is the digest of the presented key: the current one, or a replaced one before its end.
 */
export type ApiPrincipal = { kind: 'api_key'; user: KeyOwner; key: PresentedKey; keyHash: string; group: string };

/**
 * The address that may decide whether a request is refused: rate limits, `allow_ips` of API keys.
 * It has its own type, so that no code decides by the address that is only displayed. Only the HTTP
 * room creates one.
 */
export type DecidingIp = string & { readonly decides: true };

/** Where a request comes from. */
export type RequestOrigin = {
  /** By the specification's rules for proxies. For logs, sessions and display. */
  ip: string;
  /** Equals `ip` once `TRUSTED_PROXIES` is set; until then only a proxy on loopback is trusted. */
  decidingIp: DecidingIp;
  userAgent: string;
};

/** The origin of a command on this machine, which has no request. */
export const localOrigin = (userAgent: string): RequestOrigin => ({
  ip: '127.0.0.1',
  decidingIp: '127.0.0.1' as DecidingIp,
  userAgent,
});
