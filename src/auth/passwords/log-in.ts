import type { Clock, Logger } from '../../kernel/index.ts';
import type { Store, UserRecord } from '../../store/ports/index.ts';
import type { AuthConfig } from '../config.ts';
import { authErrors, invalidField } from '../errors.ts';
import type { GuessLimit } from '../limits/limit-guesses.ts';
import { USER_ENABLED } from '../sessions/check-session.ts';
import { bundleLogin, type SignedIn } from '../sessions/describe-session.ts';
import { issueSession } from '../sessions/issue-session.ts';
import type { RefreshTokens } from '../sessions/refresh-tokens.ts';
import type { AccessTokens } from '../tokens/access-tokens.ts';
import type { RequestOrigin } from '../types.ts';
import type { PasswordHashes } from './password-hashes.ts';

/** A first step that was right, where a second factor is due: `data` is the answer's body. */
export type SecondFactorDue = {
  kind: 'require_2fa';
  data: { require_2fa: true; flow_token: string; expires_at: number };
};

export type LoginResult = SignedIn | SecondFactorDue;

export type LoginRequest = {
  /** A user name in any case, or an e-mail address. */
  username: string;
  password: string;
  origin: RequestOrigin;
};

/**
 * Password login. Rejects with `auth.invalid_credentials` alike, in body and in time, for an unknown user, a wrong password, a
 * disabled user and an account without a password; with `auth.too_many_attempts`; with a limit of session issuance.
 */
export function createLogIn(deps: {
  store: Store;
  clock: Clock;
  logger: Logger;
  config: AuthConfig;
  passwords: PasswordHashes;
  limitGuesses: GuessLimit;
  accessTokens: AccessTokens;
  refreshTokens: RefreshTokens;
}): (request: LoginRequest) => Promise<LoginResult> {
  const { store, logger, passwords, limitGuesses, accessTokens } = deps;

  async function prove(login: string, password: string): Promise<UserRecord | undefined> {
    const user = await store.users.byLogin(login);
    const right = await passwords.verify(password, user?.passwordHash);
    return right && user?.status === USER_ENABLED ? user : undefined;
  }

  return async ({ username, password, origin }) => {
    const login = username.trim();
    if (login === '') throw invalidField('username', 'a user name or an e-mail address is required.');
    if (password === '') throw invalidField('password', 'a password is required.');

    // Counted by what was typed, not by the account found: a shared count of name and address would tell that both are one's.
    const proven = await limitGuesses(login.toLowerCase(), origin.ip, () => prove(login, password));
    if (!proven) throw authErrors.invalid_credentials();

    const { session, user, refreshToken } = await store.transaction((tx) =>
      issueSession(deps, tx, { proven, method: 'password', origin }),
    );
    logger.info({ userId: user.id, sid: session.sid, ip: session.ip, method: session.loginMethod }, 'signed in');
    return {
      kind: 'session',
      bundle: await bundleLogin(accessTokens, session, user),
      refreshToken,
      refreshExpiresAt: session.expiresAt,
    };
  };
}
