import type { LoginResult } from '../../../auth/index.ts';
import type { Clock } from '../../../kernel/index.ts';
import { ok } from '../../pipeline/route-kit.ts';
import type { SessionCookies } from './session-cookies.ts';

/**
 * The answer to every way of signing in: the bundle with its cookies, or the second step that is
 * due.
 */
export function createLoginResponse({ cookies, clock }: { cookies: SessionCookies; clock: Clock }) {
  return (login: LoginResult, jar: Parameters<SessionCookies['write']>[0]) => {
    if (login.kind === 'require_2fa') return ok(login.data);
    cookies.write(jar, login.refreshToken, login.refreshExpiresAt, clock.unix());
    return ok(login.bundle);
  };
}
