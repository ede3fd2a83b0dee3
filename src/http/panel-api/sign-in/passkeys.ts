import { Elysia, t } from 'elysia';
import type { Auth } from '../../../auth/index.ts';
import type { Clock } from '../../../kernel/index.ts';
import { type ProofNeed, proofScope, readProof } from '../../pipeline/access-levels.ts';
import { readId } from '../../pipeline/paging.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import type { RecordAudit } from '../record-audit.ts';
import { createSignInResponse, type SessionCookies } from './session-cookies.ts';

const base64url = (maxLength: number) => t.String({ minLength: 1, maxLength, pattern: '^[A-Za-z0-9_-]+$' });

/** WebAuthn: a credential id has at most 1023 bytes. */
const credentialId = base64url(1364);
const clientDataJSON = base64url(8192);

/** `credential.toJSON()` of a browser. Unknown members are allowed: browsers add new ones. */
const credential = <R extends Parameters<typeof t.Object>[0]>(response: R) =>
  t.Object(
    {
      id: credentialId,
      rawId: credentialId,
      type: t.Literal('public-key'),
      response: t.Object(response, { additionalProperties: true }),
    },
    { additionalProperties: true },
  );
const registration = credential({
  clientDataJSON,
  attestationObject: base64url(65_536),
  transports: t.Optional(t.Array(t.String({ maxLength: 32 }), { maxItems: 16 })),
});
const assertion = credential({
  clientDataJSON,
  authenticatorData: base64url(8192),
  signature: base64url(4096),
  // The user handle of WebAuthn has at most 64 bytes.
  userHandle: t.Optional(t.Union([t.String({ maxLength: 86 }), t.Null()])),
});

const flowToken = t.String({ maxLength: 200, description: 'From the begin step.' });
const name = t.String({ maxLength: 200, description: '1 to 64 characters.' });

const REGISTRATION_PROOF: ProofNeed = {
  scope: 'passkey.register',
  when: 'if the account already has two-factor or a passkey',
};

/** The caller's passkeys, and the WebAuthn ceremonies: registration, sign-in, confirmation. */
export function passkeyRoutes(
  kit: Kit,
  deps: { auth: Auth; audit: RecordAudit; cookies: SessionCookies; clock: Clock },
) {
  const { auth, audit } = deps;
  const signInResponse = createSignInResponse(deps);

  return new Elysia({ normalize: false, tags: ['Passkeys'] })
    .use(kit)
    .get('/api/user/passkey', async ({ panel }) => ok(await auth.passkeys.list(panel)), {
      user: true,
      detail: { summary: 'List your passkeys' },
    })
    .put(
      '/api/user/passkey/:id',
      async ({ panel, origin, params, body }) => {
        const id = readId(params.id);
        const { passkey, previousName } = await auth.passkeys.rename(panel, id, body.name);
        const detail = { before: { name: previousName }, after: { name: passkey.name } };
        await audit({ panel, origin }, { action: 'user.passkey.rename', target: `passkey:${id}`, detail });
        return ok(passkey);
      },
      { session: true, body: strictObject({ name }), detail: { summary: 'Rename a passkey' } },
    )
    .delete(
      '/api/user/passkey/:id',
      async ({ request, panel, origin, params }) => {
        const id = readId(params.id);
        const { bundle, passkeys } = await auth.passkeys.delete(panel, { id, proof: readProof(request) });
        const detail = { before: passkeys.map((passkey) => ({ id: passkey.id, name: passkey.name })) };
        await audit({ panel, origin }, { action: 'user.passkey.delete', target: `passkey:${id}`, detail });
        return ok(bundle);
      },
      {
        session: true,
        critical: true,
        documentsProof: { scope: 'passkey.delete' },
        detail: { summary: 'Delete a passkey; all other sessions end' },
      },
    )
    .delete(
      '/api/user/passkey',
      async ({ request, panel, origin }) => {
        const { bundle, passkeys } = await auth.passkeys.delete(panel, { proof: readProof(request) });
        const detail = { before: passkeys.map((passkey) => ({ id: passkey.id, name: passkey.name })) };
        await audit({ panel, origin }, { action: 'user.passkey.delete', target: `user:${panel.user.id}`, detail });
        return ok(bundle);
      },
      {
        session: true,
        critical: true,
        documentsProof: { scope: 'passkey.delete' },
        detail: { summary: 'Delete all passkeys; all other sessions end' },
      },
    )
    .post(
      '/api/user/passkey/register/begin',
      async ({ request, panel }) => ok(await auth.passkeys.registration.begin(panel, readProof(request))),
      {
        session: true,
        critical: true,
        documentsProof: REGISTRATION_PROOF,
        detail: { summary: 'Start adding a passkey' },
      },
    )
    .post(
      '/api/user/passkey/register/finish',
      async ({ request, panel, origin, body }) => {
        const { bundle, passkey } = await auth.passkeys.registration.finish(panel, {
          flowToken: body.flow_token,
          credential: body.credential,
          name: body.name,
          proof: readProof(request),
        });
        const detail = { after: { name: passkey.name } };
        await audit({ panel, origin }, { action: 'user.passkey.register', target: `passkey:${passkey.id}`, detail });
        return ok(bundle);
      },
      {
        session: true,
        critical: true,
        documentsProof: REGISTRATION_PROOF,
        body: strictObject({ flow_token: flowToken, credential: registration, name: t.Optional(name) }),
        detail: { summary: 'Add the passkey the browser created; all other sessions end' },
      },
    )
    .post('/api/user/passkey/login/begin', async () => ok(await auth.passkeys.signIn.begin()), {
      public: true,
      critical: true,
      detail: { summary: 'Start signing in with a passkey' },
    })
    .post(
      '/api/user/passkey/login/finish',
      async ({ body, origin, cookie }) => {
        const { flow_token: token, credential } = body;
        return signInResponse(await auth.passkeys.signIn.finish({ flowToken: token, credential, origin }), cookie);
      },
      {
        public: true,
        critical: true,
        body: strictObject({ flow_token: flowToken, credential: assertion }),
        detail: { summary: 'Sign in with a passkey' },
      },
    )
    .post(
      '/api/user/passkey/verify/begin',
      async ({ panel, body }) => ok(await auth.passkeys.confirmation.begin(panel, body.scope)),
      {
        session: true,
        critical: true,
        body: strictObject({ scope: proofScope }),
        detail: { summary: 'Start confirming with a passkey' },
      },
    )
    .post(
      '/api/user/passkey/verify/finish',
      async ({ panel, body }) =>
        ok(await auth.passkeys.confirmation.finish(panel, { flowToken: body.flow_token, credential: body.credential })),
      {
        session: true,
        critical: true,
        body: strictObject({ flow_token: flowToken, credential: assertion }),
        detail: {
          summary: 'Confirm with a passkey: returns a Security Proof for X-Security-Proof, valid for five minutes',
        },
      },
    );
}
