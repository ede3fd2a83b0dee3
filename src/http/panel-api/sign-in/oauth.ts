import { Elysia, t } from 'elysia';
import type { Auth } from '../../../auth/index.ts';
import type { Clock } from '../../../kernel/index.ts';
import { guardNavigation } from '../../pipeline/guard-origin.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import { auditNewUser, type RecordAudit } from '../record-audit.ts';
import { createSignInResponse, type SessionCookies } from './session-cookies.ts';

/** Longer than any parameter that a provider sends. */
const parameter = t.Optional(t.String({ maxLength: 4096 }));

/** Sign-in and binding through OAuth providers, and the bindings of the signed-in user. */
export function oauthRoutes(kit: Kit, deps: { auth: Auth; audit: RecordAudit; cookies: SessionCookies; clock: Clock }) {
  const { auth, audit } = deps;
  const signInResponse = createSignInResponse(deps);
  const readCaller = (request: Request) => auth.authenticateOptional(request.headers.get('authorization') ?? undefined);

  return new Elysia({ normalize: false, tags: ['Identities'] })
    .use(kit)
    .post(
      '/api/oauth/state',
      async ({ request, body }) => {
        const principal = await readCaller(request);
        const { provider, intent, aff } = body;
        return ok(await auth.oauth.begin({ principal, provider, intent, affCode: aff ?? '' }));
      },
      {
        public: true,
        critical: true,
        body: strictObject({
          provider: t.String({ minLength: 1, maxLength: 64, description: 'github, discord, linuxdo, oidc or a slug.' }),
          intent: t.Union([t.Literal('login'), t.Literal('bind')]),
          aff: t.Optional(
            t.String({ maxLength: 32, description: 'Affiliate code, for an account that a sign-in creates.' }),
          ),
        }),
        detail: {
          summary: 'Start signing in with or connecting a provider',
          description:
            'The response says where to send the browser. The provider sends it back to `/oauth/<provider>` of the panel, which passes code and state to `GET /api/oauth/{provider}`. A binding needs the access token of a session.',
        },
      },
    )
    .get(
      '/api/oauth/:provider',
      async ({ request, params, query, origin, cookie }) => {
        guardNavigation(request.headers);
        const done = await auth.oauth.finish({
          principal: await readCaller(request),
          provider: params.provider,
          origin,
          state: query.state ?? '',
          code: query.code,
          iss: query.iss,
          error: query.error,
          errorDescription: query.error_description,
          acceptLanguage: request.headers.get('accept-language') ?? undefined,
        });
        if (done.action === 'login') {
          await auditNewUser(audit, done.created, { provider: params.provider, origin });
          return signInResponse(done.signIn, cookie);
        }
        const { principal: panel, subject } = done;
        const detail = { after: { provider: params.provider, subject } };
        await audit({ panel, origin }, { action: 'user.identity.bind', target: `user:${panel.user.id}`, detail });
        return ok({ action: 'bind' as const });
      },
      {
        public: true,
        critical: true,
        // A provider may add parameters of its own.
        query: t.Object(
          {
            state: parameter,
            code: parameter,
            iss: parameter,
            error: parameter,
            error_description: parameter,
          },
          { additionalProperties: true },
        ),
        detail: {
          summary: 'Finish signing in with or connecting a provider',
          description: 'For scripts of the panel: refused if it is opened as a page.',
        },
      },
    )
    .get('/api/user/oauth/bindings', async ({ panel }) => ok(await auth.oauth.bindings.list(panel)), {
      user: true,
      detail: { summary: 'List your connected providers' },
    })
    .delete(
      '/api/user/oauth/bindings/:provider',
      async ({ panel, origin, params }) => {
        const { provider } = params;
        const subject = await auth.oauth.bindings.unbind(panel, provider);
        const detail = { before: { provider, subject } };
        await audit({ panel, origin }, { action: 'user.identity.unbind', target: `user:${panel.user.id}`, detail });
        return ok(null);
      },
      {
        session: true,
        critical: true,
        detail: { summary: 'Disconnect a provider, unless it is your only way to sign in' },
      },
    );
}
