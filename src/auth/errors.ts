import { AppError, defineErrors, type Logger, type Sentence } from '../kernel/index.ts';

/** The errors of the auth room. Messages go to callers, so they name no account and no secret. */
export const authErrors = defineErrors('auth', {
  validation_failed: ['invalid', 'A field has a value that is not allowed.'],

  unauthorized: ['unauthenticated', 'Sign in to continue.'],
  token_expired: ['unauthenticated', 'The access token has expired. Refresh it.'],
  session_revoked: ['unauthenticated', 'This session has ended. Sign in again.'],
  access_ended: ['unauthenticated', 'The account, API key or session of this request has ended.'],
  session_required: [
    'forbidden',
    'This needs a signed-in browser session; an access token of another kind is not enough.',
  ],

  session_mismatch: ['conflict', 'The cookie belongs to another session than the one named in X-Auth-Session.'],
  refresh_race: ['conflict', 'Another refresh came first and its result cannot be repeated here. Try again.'],
  session_limit: ['conflict', 'Too many active sessions. Sign out other devices first.'],
  session_issuance_limit: ['rate_limited', 'Too many sign-ins for this account in a short time. Try again later.'],
  session_id_required: ['invalid', 'A session id is required.'],
  session_not_found: ['not_found', 'There is no such active session.'],

  invalid_credentials: ['unauthenticated', 'The username or password is wrong.'],
  password_invalid: ['invalid', 'The current password is wrong.'],
  code_invalid: ['invalid', 'The code is wrong or was used before.'],
  code_locked: ['rate_limited', 'Too many wrong codes. Try again later.'],
  two_factor_enabled: ['conflict', 'Two-factor authentication is enabled already.'],
  two_factor_off: ['conflict', 'Two-factor authentication is not enabled.'],
  two_factor_not_begun: ['conflict', 'There is no setup to confirm. Start one first.'],
  two_factor_unreadable: [
    'conflict',
    "Can't decrypt your authenticator secret. Use a passkey, or ask an administrator.",
  ],
  passkey_invalid: ['invalid', 'The passkey was not accepted. Start again.'],
  passkey_taken: ['conflict', 'This passkey is registered already.'],
  passkey_limit: ['conflict', 'This account has reached its passkey limit. Delete one first.'],
  passkey_not_found: ['not_found', 'There is no such passkey.'],
  method_disabled: ['forbidden', 'This sign-in method is not enabled.'],
  user_disabled: ['unauthenticated', 'This account is disabled.'],

  flow_invalid: ['invalid', 'This step has expired or was used already. Start again.'],
  assertion_replayed: ['forbidden', 'This sign-in was already used. Start again.'],

  identity_unbound: ['forbidden', 'No account here is bound to this identity. Sign in another way and bind it first.'],
  identity_taken: ['conflict', 'This identity is bound to another account.'],
  provider_failed: ['upstream_failed', 'The provider of this identity did not respond properly. Try again later.'],
  access_denied: ['forbidden', 'The rules of this gateway do not admit this account of the provider.'],
  provider_not_found: ['not_found', 'There is no such provider.'],
  provider_exists: ['conflict', 'A provider with this name already exists.'],
  provider_in_use: ['conflict', 'Accounts are bound to this provider. Disable it, or unbind them first.'],
  challenge_failed: ['forbidden', 'The challenge was not passed. Try again.'],
  registration_disabled: ['forbidden', 'Sign-up is closed.'],

  changed_meanwhile: ['conflict', 'The account was changed at the same time. Nothing was saved; try again.'],
  user_not_found: ['not_found', 'There is no such user.'],
  insufficient_privilege: ['forbidden', 'Your role does not allow this.'],
  root_protected: ['forbidden', "The root account can't be disabled, promoted, demoted or deleted."],
  own_account: ['forbidden', 'This is your own account: change it in your own settings.'],
  last_way_in: ['conflict', 'This is your only way to sign in. Set a password or bind another method first.'],
  binding_not_found: ['not_found', 'The account has no such binding.'],
  quota_key_reused: ['conflict', 'This idempotency key belongs to another balance change. Nothing was changed.'],

  task_view_limit: ['conflict', 'This account has reached its limit of saved views. Delete one first.'],
  task_view_not_found: ['not_found', 'There is no such view.'],

  setup_done: ['conflict', 'Setup is complete: a root account exists.'],
  setup_token_invalid: [
    'forbidden',
    'The setup link is not valid. Use the one that the running server printed at its start.',
  ],
  name_taken: ['conflict', 'This username is taken.'],

  api_key_missing: ['unauthenticated', 'An API key is required: Authorization: Bearer sk-…'],
  api_key_invalid: ['unauthenticated', 'The API key is not valid.'],
  api_key_disabled: ['unauthenticated', 'The API key is disabled.'],
  api_key_expired: ['unauthenticated', 'The API key has expired.'],
  api_key_exhausted: ['unauthenticated', "The API key's own quota is used up."],
  api_key_user_disabled: ['unauthenticated', "The API key's user is disabled."],
  api_key_not_found: ['not_found', 'There is no such API key.'],
  api_key_rotated: ['conflict', 'The API key has been rotated in the meantime. Reload it and try again.'],
  api_key_model_not_allowed: ['forbidden', 'The API key may not use this model.'],
  api_key_ip_not_allowed: ['forbidden', 'The API key may not be used from this address.'],
  api_key_webhook_secret_missing: ['invalid', 'The key has no webhook secret yet.'],
  api_key_group_not_allowed: ['forbidden', 'You may not use this group.'],

  rate_limited: ['rate_limited', 'Too many requests. Try again later.'],
  too_many_attempts: ['rate_limited', 'Too many failed attempts. Try again later.'],

  unavailable: ['unavailable', 'The service cannot check this right now. Try again shortly.'],
});

/** The errors of Security Proofs. */
export const proofErrors = defineErrors('security_proof', {
  required: ['forbidden', "Confirm it's you: this needs a security proof in X-Security-Proof."],
  expired: ['forbidden', "The security proof has expired. Confirm it's you again."],
  invalid: ['forbidden', "The security proof is not valid in this session. Confirm it's you again."],
  method_mismatch: ['forbidden', 'The security proof was made by a method that is not enough here.'],
  scope_mismatch: ['forbidden', 'The security proof was made for something else.'],
});

/** The error for an invalid field of the request. `rule` says what is allowed. */
export const invalidField = (param: string, rule: Sentence): AppError =>
  authErrors.validation_failed({
    param,
    message: { ...rule, message: `${param}: ${rule.message}` },
    details: { field: param, rule: rule.message },
  });

/** Clients should retry after this time when the store is unavailable. */
const RETRY_AFTER_SECONDS = 2;

/**
 * Runs an operation and maps an unavailable store to `auth.unavailable`. That error clears no
 * cookies: nobody is signed out because a database was down. If the connection was lost during a
 * commit, the message says that the outcome is unknown. All other errors pass through.
 */
export async function orUnavailable<T>(logger: Logger, operation: () => Promise<T>): Promise<T> {
  try {
    return await operation();
  } catch (error) {
    if (!(error instanceof AppError) || error.kind !== 'unavailable') throw error;
    logger.error({ err: error }, 'the store is unavailable; the request was answered with auth.unavailable');
    const unknown = error.code === 'store.outcome_unknown' ? { message: error.message } : {};
    throw authErrors.unavailable({ ...unknown, cause: error, retryAfterSeconds: RETRY_AFTER_SECONDS });
  }
}
