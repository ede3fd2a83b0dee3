import { Elysia, t } from 'elysia';
import type { Auth } from '../../../auth/index.ts';
import { sentence } from '../../../kernel/index.ts';
import type { Results } from '../../../results/index.ts';
import { fieldError } from '../../bodies/validation-errors.ts';
import { readProof } from '../../pipeline/access-levels.ts';
import { readId } from '../../pipeline/paging.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import type { RecordAudit } from '../record-audit.ts';
import { type BeginExport, streamDocument } from '../stream-export.ts';

type AccountDeps = { auth: Auth; audit: RecordAudit; results: Pick<Results, 'usage'> };

/** The signed-in user's account and sessions, to read and to end. */
export function accountRoutes(kit: Kit, { auth, audit, results }: AccountDeps) {
  return new Elysia({ normalize: false, tags: ['Account'] })
    .use(kit)
    .get('/api/user/self', async ({ panel }) => ok(await auth.describe(panel)), {
      user: true,
      detail: { summary: 'Get the signed-in user' },
    })
    .get('/api/user/self/storage', async ({ panel }) => ok(describeStorage(await results.usage(panel.user))), {
      user: true,
      detail: {
        summary: 'Get your storage usage and quota',
        description:
          'quota_bytes is null without a limit, days is 0 where files are kept until they are deleted. usd_per_gb_day is charged once a day for a GB (10^9 bytes). is_offered: whether the operator keeps files.',
      },
    })
    .get('/api/user/sessions', async ({ panel }) => ok(await auth.sessions.list(panel)), {
      session: true,
      detail: { summary: 'List your active sessions, the current one first' },
    })
    .delete(
      '/api/user/sessions/:sid',
      async ({ panel, origin, params }) => {
        const ended = await auth.sessions.revoke(panel, params.sid);
        const detail = { sid: ended.revoked_sid };
        await audit({ panel, origin }, { action: 'user.session.revoke', target: `user:${panel.user.id}`, detail });
        return ok(ended);
      },
      { session: true, detail: { summary: 'Sign out one of your devices' } },
    )
    .post(
      '/api/user/sessions/revoke-others',
      async ({ panel, origin }) => {
        const ended = await auth.sessions.revokeOthers(panel);
        const target = `user:${panel.user.id}`;
        await audit({ panel, origin }, { action: 'user.sessions.revoke', target, detail: ended });
        return ok(ended);
      },
      { session: true, detail: { summary: 'Sign out all other devices' } },
    );
}

const describeStorage = (kept: Awaited<ReturnType<Results['usage']>>) => ({
  is_offered: kept.isOffered,
  bytes: kept.bytes,
  files: kept.results,
  quota_bytes: kept.quotaBytes,
  days: kept.days,
  usd_per_gb_day: kept.usdPerGbDay,
});

const password = (description: string) => t.String({ minLength: 1, maxLength: 1000, description });

/** The pieces of one JSON document about a person. */
export type ExportUser = (userId: number) => AsyncIterable<string>;

type AccountSettingsDeps = { auth: Auth; audit: RecordAudit; exportUser: ExportUser; beginExport: BeginExport };

/** Signed-in users change their own profile and password, or delete their account. */
export function accountSettingsRoutes(kit: Kit, { auth, audit, exportUser, beginExport }: AccountSettingsDeps) {
  return new Elysia({ normalize: false, tags: ['Account'] })
    .use(kit)
    .put(
      '/api/user/self',
      async ({ panel, origin, body }) => {
        const target = `user:${panel.user.id}`;
        const { password: newPassword, original_password: currentPassword, ...profile } = body;
        if (newPassword === undefined && currentPassword === undefined) {
          const { user, before, after } = await auth.account.edit(panel, profile);
          if (Object.keys(after).length > 0) {
            await audit({ panel, origin }, { action: 'user.profile', target, detail: { before, after } });
          }
          return ok(user);
        }
        if (newPassword === undefined) throw missing('password');
        if (currentPassword === undefined) throw missing('original_password');
        const [other] = Object.keys(profile);
        if (other !== undefined) throw fieldError(other, 'wrong_value', sentence('http.password_alone'));
        const bundle = await auth.passwords.change(panel, { currentPassword, newPassword, origin });
        await audit({ panel, origin }, { action: 'user.password', target, detail: {} });
        return ok(bundle);
      },
      {
        user: true,
        critical: true,
        // As POST /api/verify, which checks the same password.
        perUser: 'verify',
        body: strictObject({
          display_name: t.Optional(t.String({ maxLength: 500, description: 'At most 64 characters.' })),
          language: t.Optional(t.String({ maxLength: 20, description: 'en, zh, ja, es, de, pt' })),
          username: t.Optional(t.String({ maxLength: 200, description: '1 to 32 letters, digits and . _ -' })),
          original_password: t.Optional(password('The current password.')),
          password: t.Optional(password('8 to 128 characters.')),
        }),
        detail: {
          summary: 'Update your profile or password',
          description:
            'Profile fields return the user. A new password needs `original_password`, ends every other session and returns a new access token. Password and username need a session; a personal access token is not enough.',
        },
      },
    )
    .post(
      '/api/user/self/export',
      async ({ request, panel, origin }) => {
        const running = beginExport(panel, request);
        try {
          await auth.account.confirmExport(panel, readProof(request));
        } catch (error) {
          running.end();
          throw error;
        }
        await audit({ panel, origin }, { action: 'user.export', target: `user:${panel.user.id}`, detail: {} });
        return new Response(streamDocument(exportUser(panel.user.id), running), { headers: DOCUMENT });
      },
      {
        session: true,
        critical: true,
        documentsProof: { scope: 'account.export' },
        detail: {
          summary: 'Export everything the gateway stores about you as JSON',
          description:
            'account, identities, passkeys, sessions, api_keys, tasks (with prompt, request and timeline), webhook_notices, usage, ledger, audit. No credentials. It is streamed; a document without its last brace is incomplete. One export at a time for each user (429 EXPORTS_LIMITED).',
          responses: {
            '200': { description: 'The document', content: { 'application/json': { schema: { type: 'object' } } } },
          },
        },
      },
    )
    .delete(
      '/api/user/self',
      async ({ request, panel, origin }) => {
        await auth.account.delete(panel, readProof(request));
        const detail = { before: { username: panel.user.username } };
        await audit({ panel, origin }, { action: 'user.delete', target: `user:${panel.user.id}`, detail });
        return ok(null);
      },
      {
        session: true,
        critical: true,
        documentsProof: { scope: 'account.delete' },
        detail: {
          summary: 'Delete your account',
          description:
            'At once: name, address, identities, keys, sessions. Within 24 hours: prompts, requests, responses, results. Bills stay, under the number of the account.',
        },
      },
    );
}

const DOCUMENT = {
  'content-type': 'application/json;charset=utf-8',
  'content-disposition': 'attachment; filename="taskgate-export.json"',
};

const missing = (field: string) =>
  fieldError(field, 'required', sentence('http.field_missing', { name: field, wanted: sentence('wanted.text') }));

/** The caller's personal access token: a credential for scripts, with the rights of its owner. */
export function personalTokenRoutes(kit: Kit, { auth, audit }: { auth: Auth; audit: RecordAudit }) {
  return new Elysia({ normalize: false, tags: ['Account'] })
    .use(kit)
    .get('/api/user/token', async ({ panel }) => ok(await auth.personalTokens.describe(panel)), {
      user: true,
      detail: { summary: "Get your personal access token's first characters" },
    })
    .post(
      '/api/user/token',
      async ({ panel, origin }) => {
        const created = await auth.personalTokens.create(panel);
        // The prefix, never the token.
        const detail = { after: { prefix: created.prefix } };
        await audit({ panel, origin }, { action: 'user.token.create', target: `user:${panel.user.id}`, detail });
        return ok(created);
      },
      {
        session: true,
        critical: true,
        perUser: 'access-token',
        detail: { summary: 'Create or replace your personal access token; only this response contains it' },
      },
    )
    .delete(
      '/api/user/token',
      async ({ panel, origin }) => {
        await auth.personalTokens.revoke(panel);
        await audit({ panel, origin }, { action: 'user.token.delete', target: `user:${panel.user.id}`, detail: {} });
        return ok(null);
      },
      { session: true, detail: { summary: 'Revoke your personal access token' } },
    );
}

/** Revokes all artifact links of a user's tasks so far. New links can be created afterwards. */
export function artifactLinkRoutes(kit: Kit, { auth, audit }: { auth: Auth; audit: RecordAudit }) {
  const action = 'user.links.revoke';
  return new Elysia({ normalize: false, tags: ['Account'] })
    .use(kit)
    .post(
      '/api/user/links/revoke',
      async ({ panel, origin }) => {
        await auth.account.revokeLinks(panel);
        await audit({ panel, origin }, { action, target: `user:${panel.user.id}`, detail: {} });
        return ok(null);
      },
      { session: true, detail: { summary: 'Revoke all links to your results' } },
    )
    .post(
      '/api/user/:id/links/revoke',
      async ({ panel, origin, params }) => {
        const id = readId(params.id);
        await auth.administration.revokeLinks(panel, id);
        await audit({ panel, origin }, { action, target: `user:${id}`, detail: {} });
        return ok(null);
      },
      { admin: true, detail: { summary: "Revoke all links to a user's results" } },
    );
}
