import { Elysia, t } from 'elysia';
import type { Auth } from '../../../auth/index.ts';
import { fieldError } from '../../bodies/field-error.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import type { BeginExport } from '../export/limit-exports.ts';
import { streamDocument } from '../export/stream-document.ts';
import type { RecordAudit } from '../record-audit.ts';
import { readProof } from '../sign-in/security-proof.ts';

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
        if (other !== undefined) throw fieldError(other, 'wrong_value', 'Change the password in a separate request.');
        const bundle = await auth.passwords.change(panel, { currentPassword, newPassword, origin });
        await audit({ panel, origin }, { action: 'user.password', target, detail: {} });
        return ok(bundle);
      },
      {
        user: true,
        critical: true,
        body: strictObject({
          display_name: t.Optional(t.String({ maxLength: 500, description: 'At most 64 characters.' })),
          language: t.Optional(t.String({ maxLength: 20, description: 'en, zh, ja, es, de, pt' })),
          username: t.Optional(t.String({ maxLength: 200, description: '1 to 32 letters, digits and . _ -' })),
          original_password: t.Optional(password('The current password.')),
          password: t.Optional(password('8 to 128 characters.')),
        }),
        detail: {
          summary: 'Change your profile or password',
          description:
            'Profile fields return the user. A new password needs `original_password`, ends every other session and returns a new access token. Password and user name need a session; a personal access token is not enough.',
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
        proof: { scope: 'account.export' },
        detail: {
          summary: 'Everything that the gateway holds about you, as one JSON document',
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
        proof: { scope: 'account.delete' },
        detail: {
          summary: 'Delete your account',
          description:
            'At once: name, address, identities, keys, sessions. Within a day: prompts, requests, answers, results. Bills stay, under the number of the account.',
        },
      },
    );
}

const DOCUMENT = {
  'content-type': 'application/json;charset=utf-8',
  'content-disposition': 'attachment; filename="taskgate-export.json"',
};

const missing = (field: string) => fieldError(field, 'required', `The field "${field}" is missing: give a text.`);
