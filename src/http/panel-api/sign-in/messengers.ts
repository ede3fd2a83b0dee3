import { createHash } from 'node:crypto';
import { type Cookie, Elysia, t } from 'elysia';
import type { Auth } from '../../../auth/index.ts';
import { type Clock, constantTimeEqual, sentence } from '../../../kernel/index.ts';
import { guardNavigation } from '../../pipeline/guard-origin.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import { answersIcon } from '../../responses/describe-answer.ts';
import { httpErrors, logFailure, toAppError } from '../../responses/errors.ts';
import { serveIcon } from '../../responses/serve-icon.ts';
import { auditNewUser, type RecordAudit } from '../record-audit.ts';
import { createSignInResponse, type SessionCookies } from './session-cookies.ts';

const BIND_PATH = '/api/oauth/telegram/bind';
/**
 * The panel's page to which the widget's return is redirected; it notifies the page that opened it.
 */
const LANDING_PATH = '/oauth/telegram';

/**
 * The codes that the landing page gets, as in new-api. Any other error becomes an internal error.
 */
const BIND_CODES: Record<string, string> = {
  'auth.method_disabled': 'TELEGRAM_BIND_DISABLED',
  'auth.invalid_credentials': 'TELEGRAM_BIND_INVALID_REQUEST',
  'auth.assertion_replayed': 'TELEGRAM_BIND_INVALID_REQUEST',
  'auth.flow_invalid': 'TELEGRAM_BIND_FLOW_INVALID',
  'auth.session_revoked': 'TELEGRAM_BIND_SESSION_INVALID',
  'http.origin_forbidden': 'TELEGRAM_BIND_SESSION_INVALID',
  'auth.identity_taken': 'TELEGRAM_BIND_ALREADY_BOUND',
  'auth.user_not_found': 'TELEGRAM_BIND_USER_DELETED',
  'auth.user_disabled': 'TELEGRAM_BIND_USER_DISABLED',
};

const WIDGET_FIELDS = 'The query is the unchanged result of Telegram’s login widget: id, auth_date, hash, ….';

/** Sign-in and binding by Telegram's login widget. */
export function telegramRoutes(
  kit: Kit,
  deps: { auth: Auth; audit: RecordAudit; cookies: SessionCookies; clock: Clock; config: { secureCookies: boolean } },
) {
  const { telegram } = deps.auth;
  const bindCookie = createTelegramBindCookie({ secure: deps.config.secureCookies, path: BIND_PATH });
  const signInResponse = createSignInResponse(deps);

  return new Elysia({ normalize: false, tags: ['Identities'] })
    .use(kit)
    .get(
      '/api/oauth/telegram/login',
      async ({ request, origin, cookie }) => {
        guardNavigation(request.headers);
        return signInResponse(await telegram.signIn({ query: readQuery(request), origin }), cookie);
      },
      { public: true, critical: true, detail: { summary: 'Sign in with Telegram', description: WIDGET_FIELDS } },
    )
    .post(
      `${BIND_PATH}/start`,
      async ({ panel, cookie }) => {
        const ticket = await telegram.binding.begin(panel);
        const { flow_token: flowToken, expires_at: expiresAt } = ticket;
        bindCookie.write(cookie, { flowToken, expiresAt, now: deps.clock.unix() });
        return ok({ ...ticket, callback_url: `${BIND_PATH}/${ticket.flow_token}` });
      },
      { session: true, critical: true, detail: { summary: 'Start connecting a Telegram account' } },
    )
    .get(
      `${BIND_PATH}/:flow_token`,
      async ({ request, params, origin, log, cookie }) => {
        const { flow_token: flowToken } = params;
        try {
          bindCookie.requireBrowser(cookie, flowToken);
          const { principal, subject } = await telegram.binding.finish(flowToken, readQuery(request), origin);
          bindCookie.clear(cookie);
          const detail = { after: { provider: 'telegram', subject } };
          const target = `user:${principal.user.id}`;
          await deps.audit({ panel: principal, origin }, { action: 'user.identity.bind', target, detail });
          return redirectToLanding({ telegram_bind: 'success', flow_token: flowToken });
        } catch (thrown) {
          const error = toAppError(thrown);
          logFailure(log, error);
          const code = BIND_CODES[error.code] ?? 'TELEGRAM_BIND_INTERNAL_ERROR';
          return redirectToLanding({ telegram_bind: 'error', error_code: code, flow_token: flowToken });
        }
      },
      {
        public: true,
        critical: true,
        detail: {
          summary: 'Finish connecting a Telegram account',
          description: `${WIDGET_FIELDS} Works only in the browser that began. Redirects to ${LANDING_PATH} with telegram_bind, error_code, flow_token.`,
          responses: { '302': { description: `Redirects to ${LANDING_PATH}` } },
        },
      },
    );
}

const readQuery = (request: Request): URLSearchParams => new URL(request.url).searchParams;

const redirectToLanding = (parameters: Record<string, string>): Response =>
  new Response(null, { status: 302, headers: { location: `${LANDING_PATH}?${new URLSearchParams(parameters)}` } });

type CookieJar = Record<string, Cookie<unknown>>;

/** The cookie holds a digest, because the flow token itself could be used to bind. */
const digest = (flowToken: string): string => createHash('sha256').update(flowToken).digest('base64url');

/**
 * Ties a Telegram binding to the browser that began it. The widget's return carries no session, and
 * an attacker could send its address to a victim, whose Telegram account would then be bound to the
 * attacker's account (bind CSRF). `Lax`, because the return is a navigation from another site.
 */
function createTelegramBindCookie(config: { secure: boolean; path: string }) {
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
        throw httpErrors.origin_forbidden({ message: sentence('http.telegram_browser') });
      }
    },
    clear(jar: CookieJar): void {
      put(jar, '', 0);
    },
  };
}

const code = t.String({ maxLength: 64, description: 'The code that the official account sent.' });
const flowToken = { maxLength: 200, description: 'From the begin step.' };

/** Short, so that browsers soon show a new QR code; the gateway caches it itself. */
const BROWSER_CACHE_SECONDS = 60;

/** Sign-in and binding by a code of the WeChat official account. */
export function wechatRoutes(
  kit: Kit,
  deps: { auth: Auth; audit: RecordAudit; cookies: SessionCookies; clock: Clock },
) {
  const { wechat } = deps.auth;
  const signInResponse = createSignInResponse(deps);

  return new Elysia({ normalize: false, tags: ['Identities'] })
    .use(kit)
    .post('/api/oauth/wechat/state', async () => ok(await wechat.beginSignIn()), {
      public: true,
      critical: true,
      detail: { summary: 'Start signing in with WeChat' },
    })
    .get('/api/oauth/wechat/qrcode', async () => serveIcon(await wechat.qrCode(), BROWSER_CACHE_SECONDS), {
      public: true,
      detail: {
        summary: "Get the WeChat account's QR code",
        description: 'An image, fetched from WeChatAccountQRCodeImageURL and cached for ten minutes.',
        ...answersIcon,
      },
    })
    .get(
      '/api/oauth/wechat',
      async ({ request, query, origin, cookie }) => {
        guardNavigation(request.headers);
        const { signIn, created } = await wechat.signIn({
          ...{ code: query.code, flowToken: query.state, origin },
          acceptLanguage: request.headers.get('accept-language') ?? undefined,
        });
        await auditNewUser(deps.audit, created, { provider: 'wechat', origin });
        return signInResponse(signIn, cookie);
      },
      {
        public: true,
        critical: true,
        query: t.Object({ code, state: t.String(flowToken) }),
        detail: { summary: 'Sign in with WeChat' },
      },
    )
    .post('/api/oauth/wechat/bind/start', async ({ panel }) => ok(await wechat.beginBinding(panel)), {
      session: true,
      critical: true,
      detail: { summary: 'Start connecting a WeChat account' },
    })
    .post(
      '/api/oauth/wechat/bind',
      async ({ panel, body, origin }) => {
        const { subject } = await wechat.bind(panel, { code: body.code, flowToken: body.flow_token, origin });
        const detail = { after: { provider: 'wechat', subject } };
        const target = `user:${panel.user.id}`;
        await deps.audit({ panel, origin }, { action: 'user.identity.bind', target, detail });
        return ok({ provider: 'wechat' });
      },
      {
        session: true,
        critical: true,
        body: strictObject({ code, flow_token: t.String(flowToken) }),
        detail: { summary: 'Connect the WeChat account that sent the code' },
      },
    );
}
