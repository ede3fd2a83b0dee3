import { type AppError, sentence } from '../../kernel/index.ts';
import { STATUS } from '../../store/ports/index.ts';
import type { AuthContext } from '../context.ts';
import { authErrors } from '../errors.ts';
import { completeLogin, type LoginResult } from '../login/complete-login.ts';
import type { SignInAttempt } from '../sign-ins/record-sign-ins.ts';
import type { RequestOrigin } from '../types.ts';
import { readAssertion } from './read-assertion.ts';
import { requireTelegram, TELEGRAM } from './telegram.ts';

export type TelegramLogin = {
  /** The widget's parameters, unchanged. */
  query: URLSearchParams;
  origin: RequestOrigin;
};

/**
 * Logs in with an assertion that Telegram's widget signed. Never creates an account.
 *
 * @throws `auth.method_disabled`; `auth.invalid_credentials` alike for anything but a fresh
 * assertion of our bot; `auth.identity_unbound`; `auth.user_disabled`; `auth.assertion_replayed`; a
 * limit of session issuance, which leaves the assertion unused.
 */
export const logInWithTelegram = (ctx: AuthContext, login: TelegramLogin): Promise<LoginResult> =>
  ctx.signIns.watch({ method: TELEGRAM, origin: login.origin }, (attempt) => checkAndComplete(ctx, login, attempt));

async function checkAndComplete(
  ctx: AuthContext,
  { query, origin }: TelegramLogin,
  attempt: SignInAttempt,
): Promise<LoginResult> {
  const { store, clock, settings, flows } = ctx;
  const { botToken } = requireTelegram(settings());
  const read = readAssertion(query, botToken, clock.unix());
  if (!read.ok) throw refused(read.error);
  const { subject, text, expiresAt } = read.value;
  attempt.identity = `${TELEGRAM}:${subject}`;
  const owner = await store.identities.owner(TELEGRAM, subject);
  if (!owner) throw authErrors.identity_unbound();
  const user = await store.users.byId(owner.userId);
  if (user?.status !== STATUS.enabled) throw authErrors.user_disabled();

  return completeLogin(ctx, {
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

const refused = (cause: string): AppError =>
  authErrors.invalid_credentials({ message: sentence('auth.telegram_refused'), cause });
