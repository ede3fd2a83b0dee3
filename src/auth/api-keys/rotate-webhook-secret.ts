import { type Clock, randomBase64, type SecretBox } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { PanelPrincipal } from '../types.ts';

/**
 * `secret` is the clear text: in this answer and never again. Until `former_until` (Unix seconds;
 * 0: there was none) the one before signs along.
 */
export type NewWebhookSecret = { secret: string; former_until: number };

/** Standard Webhooks asks for 24 to 64 bytes; 32 fill the hash. */
const SECRET_BYTES = 32;
/** Long enough to change the secret at the receiver in between. */
const FORMER_SECONDS = 24 * 3600;
/** Each adds a signature to every notice, and receivers limit their headers. */
const MAX_FORMERS = 10;

export const newWebhookSecret = (): string => `whsec_${randomBase64(SECRET_BYTES)}`;

/**
 * Makes the secret that signs notices of one of the caller's own keys, or a new one;
 * `auth.api_key_not_found` for any other key.
 */
export function createRotateWebhookSecret(deps: { store: Store; clock: Clock; secretBox: SecretBox }) {
  const { store, clock, secretBox } = deps;
  return async (principal: PanelPrincipal, id: number): Promise<NewWebhookSecret> => {
    const secret = newWebhookSecret();
    const sealed = secretBox.seal(secret);
    for (;;) {
      const key = await store.apiKeys.byId(id);
      if (key?.userId !== principal.user.id) throw authErrors.api_key_not_found();
      const { webhookSecretSealed: present, webhookFormers } = key;
      const now = clock.unix();
      const replaced = present === null ? [] : [{ sealed: present, until: now + FORMER_SECONDS }];
      const formers = [...replaced, ...webhookFormers.filter(({ until }) => until > now)].slice(0, MAX_FORMERS);
      // Somebody else who rotates it at the same time makes a former of his own: then it is looked
      // at again.
      if (await store.apiKeys.rotateWebhookSecret(id, principal.user.id, { present, sealed, formers })) {
        return { secret, former_until: replaced[0]?.until ?? 0 };
      }
    }
  };
}
