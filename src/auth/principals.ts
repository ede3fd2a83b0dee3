import type { KeyOwner, PresentedKey, UserRecord } from '../store/ports/index.ts';
import { authErrors } from './errors.ts';

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
  /** The address by the specification's rules for proxies. For logs, sessions and display. */
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

export type SessionPrincipal = Extract<PanelPrincipal, { kind: 'session' }>;

/** @throws `auth.session_required` for a caller with a personal access token. */
export function requireSession(principal: PanelPrincipal): SessionPrincipal {
  if (principal.kind !== 'session') throw authErrors.session_required();
  return principal;
}

/**
 * The credential of an `Authorization` header: `Bearer x` in any case, or one bare word.
 * `undefined` for anything else: no header, other schemes, several values.
 */
export function parseAuthorization(header: string | undefined): string | undefined {
  const words = header?.trim().split(/\s+/) ?? [];
  if (words.length === 1 && words[0] && words[0].toLowerCase() !== 'bearer') return words[0];
  if (words.length === 2 && words[0]?.toLowerCase() === 'bearer') return words[1];
  return undefined;
}
