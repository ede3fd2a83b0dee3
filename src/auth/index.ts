/**
 * Owns: accounts, passwords, second factors, passkeys, security proofs, sessions, refresh rotation,
 * auth flows, personal access tokens, API keys, first set-up, rate limits, and the clean-up of
 * sessions and flows. May touch: the store's ports, upstream (providers, mail). Never touches:
 * cookies, header names and statuses (the HTTP room's), the environment, tasks, money beyond the
 * grants of new accounts and administrators' quota changes.
 *
 * Start with `create-auth.ts`. Operations are functions `(ctx, …)` in files named after them;
 * `context.ts` says what `ctx` holds.
 */

export { type AuditAction, DELETED, ROLE, STATUS } from '../store/ports/index.ts';
export type { AccountView } from './administration/describe-account.ts';
export { assertKeyAllows } from './api-keys/assert-key-allows.ts';
export type { ApiKeyFields } from './api-keys/validate-api-key.ts';
export type { Auth } from './auth.ts';
export {
  auditRetentionSteps,
  authCleanUpSteps,
  type CleanUpConfig,
  warnOfManySessions,
} from './clean-up/clean-up-steps.ts';
export type { AuthConfig, AuthSettings } from './config.ts';
export { createAuth } from './create-auth.ts';
export { authErrors, proofErrors } from './errors.ts';
export { addressKey } from './limits/address-key.ts';
export type { RateLimitState } from './limits/limit-model-requests.ts';
export type { LoginResult } from './login/complete-login.ts';
export type { StoredMail } from './mail/types.ts';
export { tryOidc } from './oauth/try-oidc.ts';
export { findRelyingParty, type RelyingParty } from './passkeys/relying-party.ts';
export type { SignedIn } from './sessions/describe-session.ts';
export * from './types.ts';
export { rootHasOtherSignInMethod } from './users/has-sign-in-method.ts';
export type { AccessWatch } from './watch-access.ts';
