import type { Store, UserRecord } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors, invalidField } from '../errors.ts';
import type { GuessLimit } from '../limits/limit-guesses.ts';
import type { AccountSlowdown } from '../limits/slow-account.ts';
import type { CompleteLogin, LoginResult } from '../login/complete-login.ts';
import { USER_ENABLED } from '../sessions/check-session.ts';
import type { FindOwnSession } from '../sessions/find-own-session.ts';
import type { SignIns } from '../sign-ins/record-sign-ins.ts';
import type { RequestOrigin } from '../types.ts';
import type { PasswordHashes } from './password-hashes.ts';

export type LoginRequest = {
  /** A user name in any case, or an e-mail address. */
  username: string;
  password: string;
  origin: RequestOrigin;
  /**
   * The refresh cookie's value, where the request carried one: the browser of somebody who is
   * signed in is not slowed down.
   */
  refreshToken?: string | undefined;
};

/**
 * Password login. Rejects with `auth.invalid_credentials` alike, in body and in time, for an
 * unknown user, a wrong password, a disabled user and an account without a password; with
 * `auth.too_many_attempts`; with a limit of session issuance; as `AccountSlowdown` does when too
 * many answers wait; with `auth.method_disabled` while nobody signs in with a password. No
 * challenge stands before it: guesses are limited, and a verifier that is away must not lock
 * anybody out.
 */
export function createLogIn(deps: {
  store: Store;
  passwords: PasswordHashes;
  limitGuesses: GuessLimit;
  slowdown: AccountSlowdown;
  findOwnSession: FindOwnSession;
  completeLogin: CompleteLogin;
  signIns: SignIns;
  settings: () => AuthSettings;
}): (request: LoginRequest) => Promise<LoginResult> {
  const { store, passwords, limitGuesses, slowdown, findOwnSession, completeLogin, signIns } = deps;

  async function prove(login: string, password: string): Promise<UserRecord | undefined> {
    const user = await store.users.byLogin(login);
    const right = await passwords.verify(password, user);
    return right && user?.status === USER_ENABLED ? user : undefined;
  }

  return async ({ username, password, origin, refreshToken }) => {
    if (!deps.settings().passwordLogin) throw authErrors.method_disabled();
    const login = username.trim();
    if (login === '') throw invalidField('username', 'a user name or an e-mail address is required.');
    if (password === '') throw invalidField('password', 'a password is required.');

    // Counted by what was typed, not by the account found: a shared count of name and address would
    // tell that both are one's.
    return signIns.watch({ method: 'password', origin, login }, () => logIn(login, { password, origin, refreshToken }));
  };

  async function logIn(
    login: string,
    { password, origin, refreshToken }: Omit<LoginRequest, 'username'>,
  ): Promise<LoginResult> {
    const account = foldSpelling(login);
    const sid = await findOwnSession(refreshToken, login);
    let seconds = 0;
    const proven = await limitGuesses(account, sid === undefined ? origin.decidingIp : { sid }, async () => {
      const counted = await slowdown.count(account, () => prove(login, password));
      seconds = counted.seconds;
      return counted.outcome;
    });
    if (sid === undefined) await slowdown.hold(seconds, origin.decidingIp);
    if (!proven) throw authErrors.invalid_credentials();

    return completeLogin({ proven, method: 'password', origin, twoFactors: false });
  }
}

/**
 * At least as coarse as the database's own folding, which takes a dotted capital I for an i:
 * another spelling is no further guess.
 */
const foldSpelling = (login: string): string => login.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
