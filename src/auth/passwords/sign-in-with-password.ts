import { type Clock, type Logger, sentence } from '../../kernel/index.ts';
import { STATUS, type Store, type UserRecord } from '../../store/ports/index.ts';
import type { AuthConfig, AuthSettings } from '../config.ts';
import { isBcrypt, type PasswordHashes } from '../credentials/password-hashes.ts';
import { authErrors, invalidField } from '../errors.ts';
import type { GuessDelay, GuessLimit } from '../limits/limit-guesses.ts';
import type { NotifyOwner } from '../mail/notify-owner.ts';
import type { RequestOrigin } from '../principals.ts';
import { isIdle, isLive, isStillTrusted } from '../sessions/check-session.ts';
import { completeSignIn, type SignInResult } from '../sessions/complete-sign-in.ts';
import type { SignIns } from '../sessions/record-sign-ins.ts';
import { holdsSession } from '../sessions/rotate-refresh.ts';
import type { SessionTokens } from '../tokens/access-tokens.ts';
import type { Flows } from '../tokens/flows.ts';
import { parseRefreshToken } from '../tokens/refresh-tokens.ts';

/** Dependencies of the operations in this file. */
type Deps = {
  store: Store;
  clock: Clock;
  logger: Logger;
  config: AuthConfig;
  settings: () => AuthSettings;
  tokens: SessionTokens;
  flows: Flows;
  passwords: PasswordHashes;
  signIns: SignIns;
  limitGuesses: GuessLimit;
  guessDelay: GuessDelay;
  notifyOwner: NotifyOwner;
};

export type PasswordSignIn = {
  /** A username in any case, or an e-mail address. */
  username: string;
  password: string;
  origin: RequestOrigin;
  /** The refresh cookie's value, if any: a browser that is signed in already is not delayed. */
  refreshToken?: string | undefined;
};

/**
 * Signs in with a password. There is no captcha: guesses are limited, and a captcha verifier that
 * is down must not lock anybody out.
 *
 * @throws `auth.invalid_credentials`, with the same body and timing for an unknown user, a wrong
 * password, a disabled user and an account without a password. `auth.too_many_attempts`; a limit of
 * session issuance; what `GuessDelay` throws when too many answers wait; `auth.method_disabled`
 * while sign-in with a password is off.
 */
export async function signInWithPassword(
  ctx: Deps,
  { username, password, origin, refreshToken }: PasswordSignIn,
): Promise<SignInResult> {
  if (!ctx.settings().passwordSignIn) throw authErrors.method_disabled();
  const loginName = username.trim();
  if (loginName === '') throw invalidField('username', sentence('auth.login_required'));
  if (password === '') throw invalidField('password', sentence('auth.password_missing'));

  // Counted by the name as typed, not by the account found: a shared count would reveal that a
  // username and an address belong to the same account.
  return ctx.signIns.watch({ method: 'password', origin, loginName }, () =>
    checkAndComplete(ctx, { loginName, password, origin, refreshToken }),
  );
}

async function checkAndComplete(
  ctx: Pick<
    Deps,
    | 'store'
    | 'clock'
    | 'logger'
    | 'config'
    | 'tokens'
    | 'flows'
    | 'passwords'
    | 'signIns'
    | 'limitGuesses'
    | 'guessDelay'
    | 'notifyOwner'
  >,
  { loginName, password, origin, refreshToken }: Omit<PasswordSignIn, 'username'> & { loginName: string },
): Promise<SignInResult> {
  const { limitGuesses, guessDelay } = ctx;
  const account = foldSpelling(loginName);
  const sid = await findOwnSession(ctx, { refreshToken, loginName });
  let seconds = 0;
  const proven = await limitGuesses(account, sid === undefined ? origin.decidingIp : { sid }, async () => {
    const counted = await guessDelay.count(account, () => findByPassword(ctx, loginName, password));
    seconds = counted.seconds;
    return counted.outcome;
  });
  if (sid === undefined) await guessDelay.delay(seconds, origin.decidingIp);
  if (!proven) throw authErrors.invalid_credentials();

  return completeSignIn(ctx, { proven, method: 'password', origin, twoFactors: false });
}

/**
 * The id of the live session of a refresh token, if it belongs to the account with this
 * `loginName`. The token is compared in constant time and not rotated.
 */
async function findOwnSession(
  { store, clock, config, tokens }: Pick<Deps, 'store' | 'clock' | 'config' | 'tokens'>,
  { refreshToken, loginName }: { refreshToken: string | undefined; loginName: string },
): Promise<string | undefined> {
  const token = parseRefreshToken(refreshToken);
  if (!token) return undefined;
  const session = await store.sessions.bySid(token.sid);
  const now = clock.unix();
  if (!session || !isLive(session, now) || isIdle(session, config.sessionIdleSeconds, now)) return undefined;
  if (!holdsSession(tokens.refresh, { session, token, now })) return undefined;
  return isStillTrusted(await store.users.byNameOrAddress(loginName), session) ? session.sid : undefined;
}

async function findByPassword(
  ctx: { store: Store; logger: Logger; passwords: PasswordHashes },
  loginName: string,
  password: string,
): Promise<UserRecord | undefined> {
  const user = await ctx.store.users.byNameOrAddress(loginName);
  const right = await ctx.passwords.verify(password, user);
  if (!right || user?.status !== STATUS.enabled) return undefined;
  if (user.passwordHash !== null && isBcrypt(user.passwordHash)) await rehashPassword(ctx, user, password);
  return user;
}

/** An imported password gets our own hash. It is the same password, so sessions stay. */
async function rehashPassword(
  { store, passwords, logger }: { store: Store; logger: Logger; passwords: PasswordHashes },
  user: UserRecord,
  password: string,
): Promise<void> {
  try {
    await store.users.replaceHash(user.id, user.passwordHash ?? '', await passwords.hash(password));
  } catch (error) {
    logger.warn(
      { userId: user.id, err: error },
      'an imported password could not be rehashed; the next sign-in tries again',
    );
  }
}

/**
 * Coarser than the database's folding of A to Z, so that no spelling of a name gives further
 * guesses.
 */
const foldSpelling = (loginName: string): string => loginName.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
