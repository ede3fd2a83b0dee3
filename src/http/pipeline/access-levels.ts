/**
 * Who may call a route. Every route declares exactly one:
 * - `public`: anybody.
 * - `user`: a signed-in panel user, by session or personal access token.
 * - `session`: a live browser session; a personal access token is not enough.
 * - `admin`, `root`: as `user`, with at least that role.
 * - `apiKey`: an API key; CORS is open.
 * - `apiKeyOrCapability`: an API key, or a signed address (`access` in the query) that the
 *   controller itself verifies; CORS is open.
 * - `refreshCookie`: the refresh cookie, checked by the controller, behind the origin guard.
 * - `operator`: whoever may read the metrics.
 */
export const ACCESS_LEVELS = [
  'public',
  'user',
  'session',
  'admin',
  'root',
  'apiKey',
  'apiKeyOrCapability',
  'refreshCookie',
  'operator',
] as const;
export type AccessLevel = (typeof ACCESS_LEVELS)[number];

/** What a Critical limiter of each user's own counts together, besides the one per address. */
export const USER_LIMIT_SCOPES = ['access-token', 'verify', 'channel-key', 'quote'] as const;
export type UserLimitScope = (typeof USER_LIMIT_SCOPES)[number];

/** Levels at which the front door knows a panel user. */
export const isPanelLevel = (level: AccessLevel): boolean =>
  level === 'user' || level === 'session' || level === 'admin' || level === 'root';

/** API-key routes alone answer other sites' pages. */
export const isOpenToOtherSites = (level: AccessLevel): boolean => level === 'apiKey' || level === 'apiKeyOrCapability';
