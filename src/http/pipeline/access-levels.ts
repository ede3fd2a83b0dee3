import { type Static, t } from 'elysia';

/**
 * Who may call a route. Every route declares exactly one:
 * - `public`: everyone.
 * - `user`: a signed-in panel user, by session or personal access token.
 * - `session`: a live browser session; a personal access token is not enough.
 * - `admin`, `root`: as `user`, with at least that role.
 * - `apiKey`: an API key; CORS is open.
 * - `apiKeyOrCapability`: an API key, or a signed link (`access` in the query), which the
 *   controller verifies; CORS is open.
 * - `refreshCookie`: the refresh cookie. The origin guard runs first; the controller checks the
 *   cookie.
 * - `operator`: the metrics token, or a program on this machine.
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

/** Scopes of the Critical limiter per user; it counts in addition to the one per address. */
export const USER_LIMIT_SCOPES = ['access-token', 'verify', 'channel-key', 'quote'] as const;
export type UserLimitScope = (typeof USER_LIMIT_SCOPES)[number];

/** Levels at which the pipeline authenticates a panel user. */
export const isPanelLevel = (level: AccessLevel): boolean =>
  level === 'user' || level === 'session' || level === 'admin' || level === 'root';

/** Only API-key routes answer pages of other sites. */
export const isOpenToOtherSites = (level: AccessLevel): boolean => level === 'apiKey' || level === 'apiKeyOrCapability';

/** The scopes of a Security Proof, as a field of a body. */
export const proofScope = t.Union([
  t.Literal('channel.key.read'),
  t.Literal('passkey.register'),
  t.Literal('passkey.delete'),
  t.Literal('account.email'),
  t.Literal('account.delete'),
  t.Literal('account.export'),
  t.Literal('settings.security'),
]);

/**
 * The scope of the Security Proof that a route needs. `when` says in which cases, if not always;
 * the OpenAPI document shows it.
 */
export type ProofNeed = { scope: Static<typeof proofScope>; when?: string };

/** The Security Proof in a request's header. */
export const readProof = (request: Request): string | undefined => request.headers.get('x-security-proof') ?? undefined;
