/**
 * Owns: accounts, passwords, sessions, refresh rotation, API keys, set-up, and the limits that guard them.
 * May touch: the store's ports. Never touches: cookies, header names and statuses (the HTTP room's), the environment, tasks, money
 * beyond the first root's grant.
 */
export { assertKeyAllows } from './api-keys/assert-key-allows.ts';
export type { ApiKeyFields } from './api-keys/validate-api-key.ts';
export type { AuthConfig, AuthSettings } from './config.ts';
export { type Auth, createAuth } from './create-auth.ts';
export { authErrors } from './errors.ts';
export type { SignedIn } from './sessions/describe-session.ts';
export * from './types.ts';
