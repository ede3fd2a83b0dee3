import type { AppError, Clock } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';
import type { Flows } from '../flows/flows.ts';
import type { CompleteLogin, LoginResult } from '../login/complete-login.ts';
import { USER_ENABLED } from '../sessions/check-session.ts';
import type { SignInAttempt, SignIns } from '../sign-ins/record-sign-ins.ts';
import type { RequestOrigin } from '../types.ts';
import { readAssertion } from './read-assertion.ts';
import { requireTelegram, TELEGRAM } from './telegram.ts';

export type TelegramLogin = {
  /** What the widget handed over, as it came. */
  query: URLSearchParams;
  origin: RequestOrigin;
};

/**
 * Login with what Telegram's widget signed. It makes no account. Rejects with
 * `auth.method_disabled`; with `auth.invalid_credentials` alike for everything that is no fresh
 * assertion of our bot; with `auth.identity_unbound`, `auth.user_disabled`,
 * `auth.assertion_replayed`; with a limit of session issuance, which leaves the assertion unused.
 */
export function createLogInWithTelegram(deps: {
  store: Store;
  clock: Clock;
  settings: () => AuthSettings;
  flows: Flows;
  completeLogin: CompleteLogin;
  signIns: SignIns;
}): (login: TelegramLogin) => Promise<LoginResult> {
  const { store, clock, settings, flows, completeLogin, signIns } = deps;

  return (login) => signIns.watch({ method: TELEGRAM, origin: login.origin }, (attempt) => logIn(login, attempt));

  async function logIn({ query, origin }: TelegramLogin, attempt: SignInAttempt): Promise<LoginResult> {
    const { botToken } = requireTelegram(settings());
    const read = readAssertion(query, botToken, clock.unix());
    if (!read.ok) throw refused(read.error);
    const { subject, text, expiresAt } = read.value;
    attempt.identity = `${TELEGRAM}:${subject}`;
    const owner = await store.identities.owner(TELEGRAM, subject);
    if (!owner) throw authErrors.identity_unbound();
    const user = await store.users.byId(owner.userId);
    if (user?.status !== USER_ENABLED) throw authErrors.user_disabled();

    return completeLogin({
      proven: user,
      method: TELEGRAM,
      origin,
      twoFactors: false,
      async within(tx) {
        await flows.claimAssertion(tx, { provider: TELEGRAM, text, expiresAt });
        if ((await tx.identities.owner(TELEGRAM, subject))?.userId !== user.id) throw authErrors.identity_unbound();
      },
    });
  }
}

const refused = (cause: string): AppError =>
  authErrors.invalid_credentials({ message: 'The Telegram login was not accepted. Begin again.', cause });
