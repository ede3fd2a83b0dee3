/**
 * Owns: accounts, passwords, sessions, refresh rotation, API keys, set-up, roles, and the limits that guard them.
 * May touch: the store's ports. Never touches: cookies, headers' names, statuses (the HTTP room's), the environment, tasks, money
 * beyond the first root's grant.
 */

export { assertKeyAllows } from './api-keys/assert-key-allows.ts';
export type { ApiKeyUse } from './api-keys/authenticate-api-key.ts';
export type { CreatedApiKey } from './api-keys/create-api-key.ts';
export type { ApiKeyState, ApiKeyView } from './api-keys/describe-api-key.ts';
export type { ApiKeyFields } from './api-keys/validate-api-key.ts';
export type { AuthConfig } from './config.ts';
export { type Auth, type AuthDeps, createAuth } from './create-auth.ts';
export type { RequestLimit } from './limits/limit-requests.ts';
export type { PasswordChange } from './passwords/change-password.ts';
export type { LoginRequest, LoginResult, SecondFactorDue } from './passwords/log-in.ts';
export type { LoginBundle, RotationBundle, SessionView, SignedIn } from './sessions/describe-session.ts';
export type { LogoutRequest, LogoutResult } from './sessions/log-out.ts';
export type { RefreshRequest } from './sessions/rotate-refresh.ts';
export type { Setup } from './setup/complete-setup.ts';
export type { CreatedRoot, NewRoot } from './setup/create-root.ts';
export * from './types.ts';
export { describeUser, type PanelUser } from './users/describe-user.ts';
