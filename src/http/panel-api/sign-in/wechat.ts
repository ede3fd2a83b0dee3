import { Elysia, t } from 'elysia';
import type { Auth } from '../../../auth/index.ts';
import type { Clock } from '../../../kernel/index.ts';
import { guardNavigation } from '../../pipeline/guard-origin.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import { answersIcon } from '../../responses/describe-answer.ts';
import { serveIcon } from '../../responses/serve-icon.ts';
import { auditNewUser, type RecordAudit } from '../record-audit.ts';
import { createLoginResponse, type SessionCookies } from './session-cookies.ts';

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
  const loginResponse = createLoginResponse(deps);

  return new Elysia({ normalize: false, tags: ['Identities'] })
    .use(kit)
    .post('/api/oauth/wechat/state', async () => ok(await wechat.beginLogin()), {
      public: true,
      critical: true,
      detail: { summary: 'Start signing in with WeChat' },
    })
    .get('/api/oauth/wechat/qrcode', async () => serveIcon(await wechat.qrCode(), BROWSER_CACHE_SECONDS), {
      public: true,
      detail: {
        summary: 'Get the QR code of the WeChat account',
        description: 'An image, fetched from WeChatAccountQRCodeImageURL and cached for ten minutes.',
        ...answersIcon,
      },
    })
    .get(
      '/api/oauth/wechat',
      async ({ request, query, origin, cookie }) => {
        guardNavigation(request.headers);
        const { login, created } = await wechat.logIn({
          ...{ code: query.code, flowToken: query.state, origin },
          acceptLanguage: request.headers.get('accept-language') ?? undefined,
        });
        await auditNewUser(deps.audit, created, { provider: 'wechat', origin });
        return loginResponse(login, cookie);
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
