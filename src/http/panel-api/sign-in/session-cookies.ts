import type { Cookie } from 'elysia';

/** The path that the refresh cookie is bound to: it travels to refresh and logout alone. */
const REFRESH_PATH = '/api/user/auth';
const HINT_COOKIE = 'svc_has_session';

type CookieJar = Record<string, Cookie<unknown>>;

/**
 * The refresh cookie and its hint, always written and cleared together. Cleared by overwriting with
 * the same path: the framework's `remove()` does nothing for a cookie that the request did not
 * carry.
 */
export function createSessionCookies(config: { secure: boolean }) {
  const name = config.secure ? '__Secure-svc_refresh' : 'svc_refresh';
  const shared = { secure: config.secure, sameSite: 'strict' } as const;

  function put(jar: CookieJar, refresh: string, hint: string, lifetime: { maxAge: number; expires: Date }): void {
    jar[name]?.set({ value: refresh, path: REFRESH_PATH, httpOnly: true, ...shared, ...lifetime });
    jar[HINT_COOKIE]?.set({ value: hint, path: '/', httpOnly: false, ...shared, ...lifetime });
  }

  return {
    /**
     * The refresh token that the browser sent. A value that is no plain text (the framework parses
     * JSON) counts as malformed.
     */
    read(jar: CookieJar): string | undefined {
      const value = jar[name]?.value;
      if (value === undefined || value === '') return undefined;
      return typeof value === 'string' ? value : 'malformed';
    },
    /**
     * Both times in whole Unix seconds; the cookie lives as long as the session, at least a second.
     */
    write(jar: CookieJar, refreshToken: string, expiresAt: number, now: number): void {
      const maxAge = Math.max(1, expiresAt - now);
      put(jar, refreshToken, '1', { maxAge, expires: new Date((now + maxAge) * 1000) });
    },
    clear(jar: CookieJar): void {
      put(jar, '', '', { maxAge: 0, expires: new Date(0) });
    },
  };
}

export type SessionCookies = ReturnType<typeof createSessionCookies>;
