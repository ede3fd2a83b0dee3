/**
 * Owns: accounts, passwords, second factors, passkeys, security proofs, sessions, refresh rotation,
 * auth flows, personal access tokens, API keys, first set-up, rate limits, and the clean-up of
 * sessions and flows. May touch: the store's ports, upstream (providers, mail). Never touches:
 * cookies, header names and statuses (the HTTP room's), the environment, tasks, money beyond the
 * grants of new accounts and administrators' quota changes.
 *
 * - `sessions/`, `tokens/`: sessions, their refresh, what is signed or hashed for them; the flows
 *   that lead from a first step to a second (`tokens/flows.ts`). The cache of sessions and its
 *   tombstones: `store/redis/session-cache.ts`.
 * - `passwords/`, `passkeys/`, `oauth/`, `messengers/`: ways to sign in.
 * - `two-factor/`, `proofs/`: second factors, and proofs before what cannot be undone.
 * - `registration/`: new accounts and the first set-up.
 * - `own-account/`: what people change themselves; `administration/`: what administrators change.
 * - `accounts/`, `credentials/`: what both share: rules of accounts, hashes, codes, erasure. Grants
 *   of new accounts and of invitations: `accounts/create-account.ts`.
 * - `api-keys/`: keys of API clients, and what each may do.
 * - `limits/`: rates of requests, sign-ins and guesses.
 * - `mail/`: emails to people, in their languages.
 * - `service/`: all operations as one object, and the clean-up.
 *
 * Start with `service/create-auth.ts`. Operations are functions `(ctx, …)`; each file says what it
 * takes of `ctx`.
 */

export { type AuditAction, DELETED, ROLE, STATUS } from '../store/ports/index.ts';
export { eraseLateWrites } from './accounts/erase-account.ts';
export { rootHasOtherSignInMethod } from './accounts/last-sign-in-method.ts';
export { isUsername } from './accounts/validate-account.ts';
export { describeOwnerLimits, MAX_OWNER_LIMIT, type OwnerLimitsView } from './accounts/validate-budgets.ts';
export type { AccountView } from './administration/list-accounts.ts';
export type { ApiKeyView } from './api-keys/describe-api-key.ts';
export { assertKeyAllows } from './api-keys/key-restrictions.ts';
export type { ApiKeyFields } from './api-keys/validate-api-key.ts';
export type { AuthConfig, AuthSettings, ModelRequestSettings, WindowLimits } from './config.ts';
export { isImportableHash } from './credentials/password-hashes.ts';
export { findRelyingParty, type RelyingParty } from './credentials/relying-party.ts';
export { authErrors, proofErrors } from './errors.ts';
export type { RateLimitState, RequestPayer } from './limits/limit-model-requests.ts';
export { addressKey } from './limits/limit-requests.ts';
export { readMailAddress } from './mail/mail-address.ts';
export type { StoredMail } from './mail/types.ts';
export { toRecord as toProviderRecord } from './oauth/describe-provider.ts';
export { tryOidc } from './oauth/try-oidc.ts';
export { DEFAULT_FIELDS, MAX_CLIENT_SECRET, validateProvider, validateSlug } from './oauth/validate-provider.ts';
export * from './principals.ts';
export { SETUP_OPTION } from './registration/set-up.ts';
export type { Auth } from './service/auth.ts';
export {
  auditRetentionSteps,
  authCleanUpSteps,
  type CleanUpConfig,
  warnOfManySessions,
} from './service/clean-up-steps.ts';
export { createAuth } from './service/create-auth.ts';
export type { AccessWatch } from './service/watch-access.ts';
export type { SignInResult } from './sessions/complete-sign-in.ts';
export type { SignedIn } from './sessions/describe-session.ts';
