import type { ApiKeyRecord } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import type { ClientRequest, Submission, TaskDeps } from '../types.ts';
import { signingKeys } from './sign-message.ts';

const HEADER = 'X-Callback-Url';

/**
 * Where notices of a submission's task go: the header's address, else the key's own; null: nowhere.
 * An address that may not be called, or that nobody could trust for want of a secret, refuses the
 * submission before anything is asked or paid.
 * @throws tasks.callback_url_invalid, tasks.webhook_secret_required
 */
export function chooseCallback(
  { webhooks, clock }: Pick<TaskDeps, 'webhooks' | 'clock'>,
  { request, caller }: Pick<Submission, 'request' | 'caller'>,
): string | null {
  const { key } = caller;
  const asked = request.callbackUrl ?? undefined;
  const url = asked ?? key?.webhookUrl ?? undefined;
  if (url === undefined) return null;
  const checked = webhooks.urls.check(url);
  if (!checked.ok) {
    const whose = asked === undefined ? "The API key's webhook_url" : `The ${HEADER} header`;
    throw taskErrors.callback_url_invalid({
      message: `${whose} cannot be called. ${checked.error}`,
      param: asked === undefined ? 'webhook_url' : HEADER,
    });
  }
  if (!key || signingKeys(webhooks.secretBox, key, clock.unix()).length === 0) {
    throw taskErrors.webhook_secret_required({ message: missingSecret(key), param: HEADER });
  }
  return checked.value.href;
}

function missingSecret(key: ApiKeyRecord | null): string {
  const make = `Make one in the panel or with POST /api/token/${key?.id ?? ':id'}/webhook-secret and give it to the receiver.`;
  return key?.webhookSecretSealed
    ? `The webhook secret of this API key cannot be read any more. ${make}`
    : `This API key has no webhook secret, so its receiver could not tell our notices from anybody's. ${make}`;
}

/**
 * For requests that are passed on and become no task.
 * @throws tasks.callback_url_invalid
 */
export function refuseCallback({ callbackUrl }: Pick<ClientRequest, 'callbackUrl'>): void {
  if (typeof callbackUrl !== 'string') return;
  throw taskErrors.callback_url_invalid({
    message: `Requests for this model are passed on to its vendor, so there is no task here whose end could be told. Leave ${HEADER} out.`,
    param: HEADER,
  });
}
