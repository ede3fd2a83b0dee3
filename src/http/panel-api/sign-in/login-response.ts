import type { LoginResult } from '../../../auth/index.ts';
import type { Clock } from '../../../kernel/index.ts';
import { ok } from '../../pipeline/route-kit.ts';
import type { SessionCookies } from './session-cookies.ts';

/** The response of every sign-in method: a session with its cookies, or the second step to take. */
export function createLoginResponse({ cookies, clock }: { cookies: SessionCookies; clock: Clock }) {
  return (login: LoginResult, jar: Parameters<SessionCookies['write']>[0]) => {
    if (login.kind === 'require_2fa') return ok(login.data);
    const { refreshToken, refreshExpiresAt: expiresAt } = login;
    cookies.write(jar, { refreshToken, expiresAt, now: clock.unix() });
    return ok(login.bundle);
  };
}
