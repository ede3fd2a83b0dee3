import { Elysia, t } from 'elysia';
import type { Auth, PanelPrincipal } from '../../../auth/index.ts';
import type { JsonObject } from '../../../kernel/index.ts';
import { readProof } from '../../pipeline/access-levels.ts';
import { readId } from '../../pipeline/paging.ts';
import { type Kit, ok, strictObject } from '../../pipeline/route-kit.ts';
import type { AnswerOnce } from '../idempotent-answers.ts';
import type { RecordAudit } from '../record-audit.ts';

const text = (maxLength: number, description?: string) =>
  t.Optional(t.String({ maxLength, ...(description ? { description } : {}) }));

const fields = {
  name: text(200, '1 to 64 characters.'),
  icon: text(200, 'A name or the address of an image.'),
  enabled: t.Optional(t.Boolean({ description: 'Default true.' })),
  client_id: text(300),
  client_secret: text(600, 'Never shown again. Empty or *** keeps the stored one.'),
  authorization_endpoint: text(600),
  token_endpoint: text(600),
  user_info_endpoint: text(600),
  well_known: text(600, 'The discovery document; endpoints that are not given are read from it.'),
  scopes: text(600, 'Separated by spaces. Default: openid profile email.'),
  user_id_field: text(200, 'A dotted path in the response of the user info endpoint. Default: sub.'),
  username_field: text(200, 'Default: preferred_username.'),
  display_name_field: text(200, 'Default: name.'),
  email_field: text(200, 'Default: email. Used only if the response says that it is verified.'),
  auth_style: t.Optional(
    t.Union([t.Literal(0), t.Literal(1), t.Literal(2)], {
      description: 'How the gateway authenticates at the provider: 0 automatic, 1 in the body, 2 Basic.',
    }),
  ),
  access_policy: text(20_000, 'Who may sign in, as JSON text: {logic, conditions: [{field, op, value}], groups}.'),
  access_denied_message: text(
    600,
    'The message for people who may not; {{provider}}, {{field}}, {{required}}, {{current}} are filled in.',
  ),
};

/** Custom OAuth providers, which root adds. */
export function oauthProviderRoutes(
  kit: Kit,
  { auth, audit, once }: { auth: Auth; audit: RecordAudit; once: AnswerOnce },
) {
  const { providers } = auth.oauth;
  /** A provider decides who may sign in, so changes need a proof. */
  const requireProof = (panel: PanelPrincipal, request: Request): Promise<void> =>
    auth.proofs.require(panel, readProof(request), 'settings.security');

  return new Elysia({ normalize: false, tags: ['Identities'] })
    .use(kit)
    .get('/api/custom-oauth-provider', async () => ok(await providers.list()), {
      root: true,
      detail: { summary: 'List custom providers' },
    })
    .get('/api/custom-oauth-provider/:id', async ({ params }) => ok(await providers.get(readId(params.id))), {
      root: true,
      detail: { summary: 'Get a custom provider' },
    })
    .post(
      '/api/custom-oauth-provider',
      async ({ request, panel, origin, body, set }) => {
        await requireProof(panel, request);
        return once({ panel, request, body, set }, async () => {
          const created = await providers.create(body);
          const target = `oauth_provider:${created.id}`;
          const detail = { after: auditFields(created) };
          await audit({ panel, origin }, { action: 'oauth_provider.create', target, detail });
          return ok(created);
        });
      },
      {
        root: true,
        documentsProof: { scope: 'settings.security' },
        body: strictObject({
          slug: t.String({ maxLength: 64, description: 'Its name in addresses; it cannot be changed.' }),
          ...fields,
        }),
        detail: { summary: 'Add a custom provider' },
      },
    )
    .put(
      '/api/custom-oauth-provider/:id',
      async ({ request, panel, origin, params, body }) => {
        await requireProof(panel, request);
        const id = readId(params.id);
        const { before, after } = await providers.update(id, body);
        const detail = { before: auditFields(before), after: auditFields(after) };
        await audit({ panel, origin }, { action: 'oauth_provider.update', target: `oauth_provider:${id}`, detail });
        return ok(after);
      },
      {
        root: true,
        documentsProof: { scope: 'settings.security' },
        body: strictObject({
          ...fields,
          force: t.Optional(
            t.Boolean({
              description: 'Accept another address or user_id_field although identities are bound; they stay bound.',
            }),
          ),
        }),
        detail: {
          summary: 'Update a custom provider; the slug is permanent',
          description:
            'A new address of the discovery document, token or user info endpoint needs the client secret again.',
        },
      },
    )
    .delete(
      '/api/custom-oauth-provider/:id',
      async ({ request, panel, origin, params }) => {
        await requireProof(panel, request);
        const id = readId(params.id);
        const detail = { before: auditFields(await providers.delete(id)) };
        await audit({ panel, origin }, { action: 'oauth_provider.delete', target: `oauth_provider:${id}`, detail });
        return ok(null);
      },
      {
        root: true,
        documentsProof: { scope: 'settings.security' },
        detail: { summary: 'Delete a custom provider that no user is connected to' },
      },
    )
    .post(
      '/api/custom-oauth-provider/:id/test',
      async ({ request, panel, origin, params }) => {
        // A test sends the stored secret to the configured address.
        await requireProof(panel, request);
        const id = readId(params.id);
        const result = await providers.test(id);
        const detail = { ok: result.ok };
        await audit({ panel, origin }, { action: 'oauth_provider.test', target: `oauth_provider:${id}`, detail });
        return ok(result);
      },
      {
        root: true,
        critical: true,
        documentsProof: { scope: 'settings.security' },
        detail: { summary: 'Test a custom provider as it is stored' },
      },
    )
    .post('/api/custom-oauth-provider/discovery', async ({ body }) => ok(await providers.discover(body)), {
      root: true,
      body: strictObject({ well_known_url: text(600), issuer_url: text(600) }),
      detail: { summary: "Read a provider's discovery document" },
    });
}

type View = Awaited<ReturnType<Auth['oauth']['providers']['delete']>>;

/** The fields for the audit log, which says only whether the secret is set. */
const auditFields = ({ client_secret: secret, ...view }: View): JsonObject => ({
  ...view,
  client_secret: secret === '' ? 'unset' : 'set',
});
