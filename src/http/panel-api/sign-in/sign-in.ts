import { Elysia, t } from 'elysia';
import type { Auth } from '../../../auth/index.ts';
import { AppError, type Clock } from '../../../kernel/index.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import { createSignInResponse, type SessionCookies } from './session-cookies.ts';

/** Errors after which the cookies are useless. Outages, limits and mismatches keep the cookies. */
const COOKIES_ARE_USELESS = ['auth.unauthorized', 'auth.session_revoked'];

const credentials = strictObject({
  username: t.String({ maxLength: 320, description: 'Username or email address.' }),
  password: t.String({ maxLength: 1000 }),
});

export function signInRoutes(kit: Kit, deps: { auth: Auth; cookies: SessionCookies; clock: Clock }) {
  const { auth, cookies, clock } = deps;
  const signInResponse = createSignInResponse(deps);
  const signIn = async (
    request: Parameters<Auth['passwords']['signIn']>[0],
    jar: Parameters<SessionCookies['read']>[0],
  ) => signInResponse(await auth.passwords.signIn(request), jar);
  const readRefresh = (request: Request, jar: Parameters<SessionCookies['read']>[0]) => ({
    refreshToken: cookies.read(jar),
    expectedSid: request.headers.get('x-auth-session') ?? undefined,
  });

  return new Elysia({ normalize: false, tags: ['Sign-in'] })
    .use(kit)
    .post('/api/user/login', async ({ body, origin, cookie }) => signIn({ ...body, origin }, cookie), {
      public: true,
      critical: true,
      body: credentials,
      detail: { summary: 'Sign in with a password' },
    })
    .post(
      '/api/user/auth/login',
      async ({ body, origin, cookie }) => signIn({ ...body, origin, refreshToken: cookies.read(cookie) }, cookie),
      {
        public: true,
        critical: true,
        body: credentials,
        detail: {
          summary: 'Sign in with a password in a browser that may be signed in',
          description:
            'The same as `POST /api/user/login`, at a path to which browsers send the refresh cookie: a browser with a live session of this account is not slowed down while others guess its password.',
        },
      },
    )
    .post(
      '/api/user/login/2fa',
      async ({ body, origin, cookie }) => {
        const { code, flow_token: flowToken } = body;
        return signInResponse(await auth.twoFactor.finishSignIn({ code, flowToken, origin }), cookie);
      },
      {
        public: true,
        critical: true,
        body: strictObject({
          code: t.String({ maxLength: 64, description: 'A code of the authenticator app, or a backup code.' }),
          flow_token: t.String({ maxLength: 200, description: 'From the first step, which returned require_2fa.' }),
        }),
        detail: { summary: 'Complete a sign-in with the second factor' },
      },
    )
    .post(
      '/api/user/auth/refresh',
      async ({ request, cookie, origin }) => {
        try {
          const next = await auth.sessions.refresh({ ...readRefresh(request, cookie), origin });
          const { refreshToken, refreshExpiresAt: expiresAt } = next;
          cookies.dropFormer(cookie);
          cookies.write(cookie, { refreshToken, expiresAt, now: clock.unix() });
          return ok(next.bundle);
        } catch (error) {
          if (error instanceof AppError && COOKIES_ARE_USELESS.includes(error.code)) {
            if (error.code === 'auth.session_revoked') cookies.dropFormer(cookie);
            cookies.clear(cookie);
          }
          throw error;
        }
      },
      {
        refreshCookie: true,
        critical: true,
        detail: { summary: 'Refresh the access token and the refresh cookie' },
      },
    )
    .post(
      '/api/user/auth/logout',
      async ({ request, cookie, origin }) => {
        const { revokedSid, clearCookies } = await auth.sessions.signOut({
          ...readRefresh(request, cookie),
          authorization: request.headers.get('authorization') ?? undefined,
          origin,
        });
        if (revokedSid !== null) cookies.dropFormer(cookie);
        if (clearCookies) cookies.clear(cookie);
        return ok({ revoked_sid: revokedSid, cookie_cleared: clearCookies });
      },
      { refreshCookie: true, critical: true, detail: { summary: 'Sign out and clear the cookies' } },
    );
}
