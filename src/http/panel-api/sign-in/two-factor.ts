import { Elysia, t } from 'elysia';
import type { Auth, PanelPrincipal } from '../../../auth/index.ts';
import { proofScope } from '../../pipeline/access-levels.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import type { RecordAudit } from '../record-audit.ts';

const appCode = t.String({ maxLength: 64, description: 'A code of the authenticator app.' });
const anyCode = t.String({ maxLength: 64, description: 'A code of the authenticator app, or a backup code.' });

const auditTarget = ({ user }: PanelPrincipal): string => `user:${user.id}`;

/** The signed-in user's second factor, and how they confirm their identity (Security Proof). */
export function twoFactorRoutes(kit: Kit, { auth, audit }: { auth: Auth; audit: RecordAudit }) {
  return new Elysia({ normalize: false, tags: ['Security'] })
    .use(kit)
    .get('/api/user/2fa/status', async ({ panel }) => ok(await auth.twoFactor.status(panel)), {
      user: true,
      detail: { summary: 'Get your two-factor authentication status' },
    })
    .post(
      '/api/user/2fa/setup',
      async ({ panel, origin }) => {
        const setup = await auth.twoFactor.setUp(panel);
        await audit({ panel, origin }, { action: 'user.2fa.setup', target: auditTarget(panel), detail: {} });
        return ok(setup);
      },
      {
        session: true,
        critical: true,
        detail: {
          summary: 'Start setting up an authenticator app; only this response contains its secret and backup codes',
        },
      },
    )
    .post(
      '/api/user/2fa/enable',
      async ({ panel, origin, body }) => {
        const bundle = await auth.twoFactor.enable(panel, body.code);
        await audit({ panel, origin }, { action: 'user.2fa.enable', target: auditTarget(panel), detail: {} });
        return ok(bundle);
      },
      {
        session: true,
        critical: true,
        body: strictObject({ code: appCode }),
        detail: { summary: 'Turn on two-factor authentication; all other sessions end' },
      },
    )
    .post(
      '/api/user/2fa/disable',
      async ({ panel, origin, body }) => {
        const bundle = await auth.twoFactor.disable(panel, { code: body.code, origin });
        await audit({ panel, origin }, { action: 'user.2fa.disable', target: auditTarget(panel), detail: {} });
        return ok(bundle);
      },
      {
        session: true,
        critical: true,
        body: strictObject({ code: anyCode }),
        detail: { summary: 'Turn off two-factor authentication; all other sessions end' },
      },
    )
    .post(
      '/api/user/2fa/backup_codes',
      async ({ panel, origin, body }) => {
        const bundle = await auth.twoFactor.replaceBackupCodes(panel, { code: body.code, origin });
        await audit({ panel, origin }, { action: 'user.2fa.backup_codes', target: auditTarget(panel), detail: {} });
        return ok(bundle);
      },
      {
        session: true,
        critical: true,
        body: strictObject({ code: appCode }),
        detail: { summary: 'Replace all backup codes; all other sessions end' },
      },
    )
    .get('/api/verify', async ({ panel, query }) => ok(await auth.proofs.describe(panel, query.scope)), {
      session: true,
      query: strictObject({ scope: proofScope }),
      detail: {
        summary: "List the ways to confirm it's you",
        description:
          'needed: whether the scope requires this account to confirm. methods: any one of 2fa, passkey, password is enough; empty if the account has no method.',
      },
    })
    .post('/api/verify', async ({ panel, origin, body }) => ok(await auth.proofs.prove(panel, { ...body, origin })), {
      session: true,
      critical: true,
      perUser: 'verify',
      body: strictObject({
        method: t.Union([t.Literal('2fa'), t.Literal('password')], {
          description: 'With a second factor: 2fa. With neither second factor nor passkey: password.',
        }),
        code: t.Optional(anyCode),
        password: t.Optional(t.String({ maxLength: 1000 })),
        scope: proofScope,
      }),
      detail: { summary: "Confirm it's you: returns a Security Proof for X-Security-Proof, valid for five minutes" },
    });
}
