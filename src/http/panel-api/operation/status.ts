import { Elysia } from 'elysia';
import type { Auth } from '../../../auth/index.ts';
import type { PublicSettings } from '../../../settings/index.ts';
import { type Kit, ok } from '../../pipeline/route-kit.ts';
import { serveIcon } from '../../responses/serve-icon.ts';

/** A provider that an administrator added, as the sign-in page shows it. */
export type PublicProvider = {
  id: number;
  name: string;
  slug: string;
  icon: string;
  client_id: string;
  authorization_endpoint: string;
  scopes: string;
};

export type StatusDeps = {
  auth: Auth;
  publicSettings: () => PublicSettings;
  /** The custom providers that are usable now. */
  publicProviders: () => Promise<PublicProvider[]>;
  /** The texts that people agree to; empty if there is none. */
  legalTexts: () => { user_agreement: string; privacy_policy: string };
  /** The operator's logo. */
  brandLogo: () => { bytes: Uint8Array; mimeType: string } | undefined;
  version: string;
  /** Whether the disk or the database cannot be written: then nobody can sign in. */
  isUnwritable: () => boolean;
  /** Unix seconds. */
  startedAt: number;
};

/** What the panel needs to know before sign-in. */
export function statusRoutes(kit: Kit, deps: StatusDeps) {
  const { auth } = deps;
  return new Elysia({ normalize: false, tags: ['System'] })
    .use(kit)
    .get(
      '/api/status',
      async () => {
        const [needed, providers] = await Promise.all([auth.setup.needed(), deps.publicProviders()]);
        return ok({
          version: deps.version,
          start_time: deps.startedAt,
          setup: !needed,
          unwritable: deps.isUnwritable(),
          ...deps.publicSettings(),
          custom_oauth_providers: providers,
        });
      },
      { public: true, detail: { summary: 'Get the public gateway status' } },
    )
    .get('/api/branding/logo', () => serveIcon(deps.brandLogo()), {
      public: true,
      detail: {
        summary: "Get the gateway's logo",
        responses: { '200': { description: 'The picture', content: { 'image/png': {} } } },
      },
    })
    .get('/api/legal', () => ok(deps.legalTexts()), {
      public: true,
      detail: { summary: 'Get the terms of service and privacy policy' },
    });
}
