import { createHash } from 'node:crypto';
import type { Cookie } from 'elysia';
import { constantTimeEqual } from '../../../kernel/index.ts';
import { httpErrors } from '../../errors.ts';

type CookieJar = Record<string, Cookie<unknown>>;

/** The flow token's digest: the cookie is no copy of a token that binds. */
const digest = (flowToken: string): string => createHash('sha256').update(flowToken).digest('base64url');

/**
 * Ties a Telegram binding to the browser that began it. The widget's return carries no session, and
 * its address can be handed to somebody else, whose Telegram account would be bound to the account
 * of whoever began (bind CSRF). `Lax`, for that return is a navigation from another site.
 */
export function createTelegramBindCookie(config: { secure: boolean; path: string }) {
  const name = config.secure ? '__Secure-svc_telegram_bind' : 'svc_telegram_bind';

  function put(jar: CookieJar, value: string, maxAge: number): void {
    jar[name]?.set({ value, maxAge, path: config.path, httpOnly: true, secure: config.secure, sameSite: 'lax' });
  }

  return {
    /**
     * Both times in whole Unix seconds; the cookie lives as long as the flow, at least a second. A
     * later binding takes its place.
     */
    write(jar: CookieJar, flowToken: string, expiresAt: number, now: number): void {
      put(jar, digest(flowToken), Math.max(1, expiresAt - now));
    },
    /**
     * Refuses a browser in which this flow was not begun, in constant time.
     * @throws http.origin_forbidden
     */
    requireBrowser(jar: CookieJar, flowToken: string): void {
      const value = jar[name]?.value;
      if (typeof value !== 'string' || !constantTimeEqual(value, digest(flowToken))) {
        throw httpErrors.origin_forbidden({ message: 'The binding was not begun in this browser.' });
      }
    },
    clear(jar: CookieJar): void {
      put(jar, '', 0);
    },
  };
}
