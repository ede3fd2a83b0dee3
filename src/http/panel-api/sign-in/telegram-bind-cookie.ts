import { createHash } from 'node:crypto';
import type { Cookie } from 'elysia';
import { constantTimeEqual } from '../../../kernel/index.ts';
import { httpErrors } from '../../errors.ts';

type CookieJar = Record<string, Cookie<unknown>>;

/** The cookie holds a digest, because the flow token itself could be used to bind. */
const digest = (flowToken: string): string => createHash('sha256').update(flowToken).digest('base64url');

/**
 * Ties a Telegram binding to the browser that began it. The widget's return carries no session, and
 * an attacker could send its address to a victim, whose Telegram account would then be bound to the
 * attacker's account (bind CSRF). `Lax`, because the return is a navigation from another site.
 */
export function createTelegramBindCookie(config: { secure: boolean; path: string }) {
  const name = config.secure ? '__Secure-svc_telegram_bind' : 'svc_telegram_bind';

  function put(jar: CookieJar, value: string, maxAge: number): void {
    jar[name]?.set({ value, maxAge, path: config.path, httpOnly: true, secure: config.secure, sameSite: 'lax' });
  }

  return {
    /**
     * Both times are whole Unix seconds. The cookie lives as long as the flow, at least a second. A
     * later binding replaces it.
     */
    write(jar: CookieJar, flow: { flowToken: string; expiresAt: number; now: number }): void {
      put(jar, digest(flow.flowToken), Math.max(1, flow.expiresAt - flow.now));
    },
    /**
     * Refuses a browser that did not begin this flow. Compares in constant time.
     * @throws http.origin_forbidden
     */
    requireBrowser(jar: CookieJar, flowToken: string): void {
      const value = jar[name]?.value;
      if (typeof value !== 'string' || !constantTimeEqual(value, digest(flowToken))) {
        throw httpErrors.origin_forbidden({ message: 'This browser did not begin the binding.' });
      }
    },
    clear(jar: CookieJar): void {
      put(jar, '', 0);
    },
  };
}
