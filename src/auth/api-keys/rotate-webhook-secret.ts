import { type Clock, isOver, randomBase64, type SecretBox } from '../../kernel/index.ts';
import { FORMER_SECRET_SECONDS, type Store } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { PanelPrincipal } from '../principals.ts';

/**
 * `secret` is the clear text, shown only in this answer. Until `former_until` (Unix seconds; 0:
 * there was none) the former secret signs too.
 */
export type NewWebhookSecret = { secret: string; former_until: number };

/** Standard Webhooks asks for 24 to 64 bytes; 32 fill the hash. */
const SECRET_BYTES = 32;
/** Each adds a signature to every notice, and receivers limit the size of headers. */
const MAX_FORMERS = 10;

export const newWebhookSecret = (): string => `whsec_${randomBase64(SECRET_BYTES)}`;

/**
 * Creates or replaces the secret that signs the webhook notices of one of the caller's own keys.
 *
 * @throws `auth.api_key_not_found` for any other key.
 */
export async function rotateWebhookSecret(
  { store, clock, secretBox }: { store: Store; clock: Clock; secretBox: SecretBox },
  principal: PanelPrincipal,
  id: number,
): Promise<NewWebhookSecret> {
  const secret = newWebhookSecret();
  const sealed = secretBox.seal(secret);
  for (;;) {
    const key = await store.apiKeys.byId(id);
    if (key?.userId !== principal.user.id) throw authErrors.api_key_not_found();
    const { webhookSecretSealed: present, webhookFormers } = key;
    const now = clock.unix();
    const replaced = present === null ? [] : [{ sealed: present, until: now + FORMER_SECRET_SECONDS }];
    const formers = [
      ...replaced,
      ...webhookFormers.filter(({ until }) => !isOver(until, { now, longest: FORMER_SECRET_SECONDS })),
    ].slice(0, MAX_FORMERS);
    // A concurrent rotation changes the present secret and the formers; then read again.
    if (await store.apiKeys.rotateWebhookSecret(id, principal.user.id, { present, sealed, formers })) {
      return { secret, former_until: replaced[0]?.until ?? 0 };
    }
  }
}
