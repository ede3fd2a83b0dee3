import type { PresentedKey } from '../store/ports/index.ts';
import { notificationErrors } from './errors.ts';
import { canSign } from './sign-message.ts';
import type { WebhookServices } from './types.ts';

const HEADER = 'X-Callback-Url';

/**
 * The address for a submission's notices: the header's, else the API key's own; null: none. Refuses
 * the submission, before anything is sent or paid, when the address is not allowed or when no
 * secret can sign notices to it.
 * @throws tasks.callback_url_invalid, tasks.webhook_secret_required
 */
export function chooseCallback(
  { urls, secretBox }: Pick<WebhookServices, 'urls' | 'secretBox'>,
  { requested: header, key }: { requested: string | null | undefined; key: PresentedKey | null },
): string | null {
  const requested = header ?? undefined;
  const url = requested ?? key?.webhookUrl ?? undefined;
  if (url === undefined) return null;
  const checked = urls.check(url);
  if (!checked.ok) {
    const source = requested === undefined ? "The API key's webhook_url" : `The ${HEADER} header`;
    throw notificationErrors.callback_url_invalid({
      message: `${source} cannot be called. ${checked.error}`,
      param: requested === undefined ? 'webhook_url' : HEADER,
    });
  }
  if (!key || !canSign(secretBox, key)) {
    throw notificationErrors.webhook_secret_required({ message: missingSecret(key), param: HEADER });
  }
  return checked.value.href;
}

function missingSecret(key: PresentedKey | null): string {
  const advice = `Make one in the panel or with POST /api/token/${key?.id ?? ':id'}/webhook-secret and give it to the receiver.`;
  return key?.webhookSecretSealed
    ? `The webhook secret of this API key can no longer be read. ${advice}`
    : `This API key has no webhook secret, so its receiver could not verify notices. ${advice}`;
}

/**
 * Refuses a callback URL on relayed requests, which become no task.
 * @throws tasks.callback_url_invalid
 */
export function refuseCallback({ callbackUrl }: { callbackUrl?: string | null }): void {
  if (typeof callbackUrl !== 'string') return;
  throw notificationErrors.callback_url_invalid({
    message: `Requests for this model are relayed to its vendor, so there is no task here to send notices about. Leave ${HEADER} out.`,
    param: HEADER,
  });
}
