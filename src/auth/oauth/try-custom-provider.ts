import { AppError, type SecretBox, type Sentence, sentence, toSentence } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { openProvider, type Upstream } from '../../upstream/index.ts';
import type { AuthSettings } from '../config.ts';
import { openSecret, providerAddresses, readAuthentication, requireAddress } from './custom-provider.ts';
import { findRecord } from './custom-providers.ts';
import { discover, type ProviderMetadata } from './discover.ts';
import { type OidcStep, tryClient } from './try-oidc.ts';

// Names as text: a list with "client" gives clients generated for Go a second `Client`.
/** What came of a test. Only the last step can have failed. */
export type ProviderTrial = { ok: boolean; steps: (Sentence & { name: string; ok: boolean })[] };

type Deps = { store: Store; secretBox: SecretBox; upstream: Upstream; settings: () => AuthSettings };

/**
 * Tests a custom provider as it is stored, whether it is switched on or not: reads its discovery
 * document, if it has one, and tries to redeem a made-up code.
 * @throws `auth.provider_not_found`
 */
export async function tryCustomProvider(deps: Deps, id: number): Promise<ProviderTrial> {
  const { secretBox, upstream, settings } = deps;
  const record = await findRecord(deps, id);
  const call = openProvider(upstream, providerAddresses(record));
  const steps: OidcStep[] = [];
  let metadata: ProviderMetadata | undefined;
  try {
    if (record.wellKnown !== '') {
      metadata = await discover(record.wellKnown, call);
      steps.push({ name: 'discovery', ok: true, ...sentence('oidc.read', { issuer: metadata.issuer }) });
    }
    const client = { clientId: record.clientId, clientSecret: openSecret(record, secretBox) };
    const step = await tryClient(call, client, {
      endpoint: requireAddress(record.tokenEndpoint || metadata?.tokenEndpoint),
      authentication: readAuthentication(record, metadata),
      redirectUri: `${settings().serverAddress}/oauth/${record.slug}`,
    });
    return { ok: step.ok, steps: [...steps, step] };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const name = record.wellKnown !== '' && metadata === undefined ? 'discovery' : 'client';
    return { ok: false, steps: [...steps, { name, ok: false, ...toSentence(error) }] };
  }
}
