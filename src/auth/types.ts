import type { ApiKeyRecord, UserRecord } from '../store/ports/index.ts';

/** Who speaks on a panel route. */
export type PanelPrincipal =
  | { kind: 'session'; user: UserRecord; sid: string; sessionVersion: number }
  | { kind: 'pat'; user: UserRecord };

/** Who speaks on an API-key route. `group` is the key's own, else the user's. */
export type ApiPrincipal = { kind: 'api_key'; user: UserRecord; key: ApiKeyRecord; group: string };

/** Where a request comes from; `ip` has passed the trusted-proxy rules. */
export type RequestOrigin = { ip: string; userAgent: string };
