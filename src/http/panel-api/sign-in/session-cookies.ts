import type { Cookie } from 'elysia';
import type { SignInResult } from '../../../auth/index.ts';
import type { Clock } from '../../../kernel/index.ts';
import { ok } from '../../pipeline/route-kit.ts';

/** Browsers send the refresh cookie only below this path: with sign-in, refresh and sign-out. */
const REFRESH_PATH = '/api/user/auth';
const HINT_COOKIE = 'svc_has_session';
/** Characters of the installation's id: enough to tell the few gateways of one host apart. */
const ID_CHARS = 6;

type CookieJar = Record<string, Cookie<unknown>>;
type CookieValues = { refreshToken: string; hint: string; maxAge: number; expires: Date };
type IssuedRefresh = { refreshToken: string; expiresAt: number; now: number };

/**
 * The refresh cookie, and the hint cookie that tells scripts that a session exists. Both are always
 * written and cleared together. Clearing overwrites them with the same path, because the
 * framework's `remove()` ignores cookies that the request did not carry.
 */
export function createSessionCookies(config: { secure: boolean; installation?: string | undefined }) {
  const former = config.secure ? '__Secure-svc_refresh' : 'svc_refresh';
  // Browsers send the cookies of a host to all of its ports. With names of their own, two gateways
  // of one host do not sign each other out; nodes of one installation share the name.
  const id = config.installation?.slice(0, ID_CHARS) ?? '';
  const name = id === '' ? former : `${former}_${id}`;
  const shared = { secure: config.secure, sameSite: 'strict' } as const;

  function put(jar: CookieJar, { refreshToken, hint, ...lifetime }: CookieValues): void {
    jar[name]?.set({ value: refreshToken, path: REFRESH_PATH, httpOnly: true, ...shared, ...lifetime });
    jar[HINT_COOKIE]?.set({ value: hint, path: '/', httpOnly: false, ...shared, ...lifetime });
  }

  const isSent = (jar: CookieJar, which: string): boolean => (jar[which]?.value ?? '') !== '';
  const sentName = (jar: CookieJar): string => (isSent(jar, name) ? name : former);

  return {
    /**
     * The refresh token that the browser sent, under the former name too: older tokens keep it for
     * their lifetime. The framework parses JSON in cookies; a value that is not plain text becomes
     * `malformed`.
     */
    read(jar: CookieJar): string | undefined {
      const value = jar[sentName(jar)]?.value;
      if (value === undefined || value === '') return undefined;
      return typeof value === 'string' ? value : 'malformed';
    },
    /**
     * Removes the token of the former name that this request was about, once it is known to be one
     * of this installation: another gateway of the host may use that name.
     */
    dropFormer(jar: CookieJar): void {
      if (name === former || isSent(jar, name) || !isSent(jar, former)) return;
      jar[former]?.set({ value: '', path: REFRESH_PATH, httpOnly: true, ...shared, maxAge: 0, expires: new Date(0) });
    },
    /**
     * Both times are whole Unix seconds. The cookies live as long as the session, at least a
     * second.
     */
    write(jar: CookieJar, { refreshToken, expiresAt, now }: IssuedRefresh): void {
      const maxAge = Math.max(1, expiresAt - now);
      put(jar, { refreshToken, hint: '1', maxAge, expires: new Date((now + maxAge) * 1000) });
    },
    clear(jar: CookieJar): void {
      put(jar, { refreshToken: '', hint: '', maxAge: 0, expires: new Date(0) });
    },
  };
}

export type SessionCookies = ReturnType<typeof createSessionCookies>;

/** The response of every sign-in method: a session with its cookies, or the second step to take. */
export function createSignInResponse({ cookies, clock }: { cookies: SessionCookies; clock: Clock }) {
  return (signIn: SignInResult, jar: Parameters<SessionCookies['write']>[0]) => {
    if (signIn.kind === 'require_2fa') return ok(signIn.data);
    const { refreshToken, refreshExpiresAt: expiresAt } = signIn;
    cookies.write(jar, { refreshToken, expiresAt, now: clock.unix() });
    return ok(signIn.bundle);
  };
}
