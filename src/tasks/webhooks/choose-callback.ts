import { taskErrors } from '../errors.ts';
import type { Caller, ClientRequest, Submission, TaskDeps } from '../types.ts';
import { canSign } from './sign-message.ts';

const HEADER = 'X-Callback-Url';

/**
 * The address for a submission's notices: the header's, else the API key's own; null: none. Refuses
 * the submission, before anything is sent or paid, when the address is not allowed or when no
 * secret can sign notices to it.
 * @throws tasks.callback_url_invalid, tasks.webhook_secret_required
 */
export function chooseCallback(
  { webhooks }: Pick<TaskDeps, 'webhooks'>,
  { request, caller }: Pick<Submission, 'request' | 'caller'>,
): string | null {
  const { key } = caller;
  const requested = request.callbackUrl ?? undefined;
  const url = requested ?? key?.webhookUrl ?? undefined;
  if (url === undefined) return null;
  const checked = webhooks.urls.check(url);
  if (!checked.ok) {
    const source = requested === undefined ? "The API key's webhook_url" : `The ${HEADER} header`;
    throw taskErrors.callback_url_invalid({
      message: `${source} cannot be called. ${checked.error}`,
      param: requested === undefined ? 'webhook_url' : HEADER,
    });
  }
  if (!key || !canSign(webhooks.secretBox, key)) {
    throw taskErrors.webhook_secret_required({ message: missingSecret(key), param: HEADER });
  }
  return checked.value.href;
}

function missingSecret(key: Caller['key']): string {
  const advice = `Make one in the panel or with POST /api/token/${key?.id ?? ':id'}/webhook-secret and give it to the receiver.`;
  return key?.webhookSecretSealed
    ? `The webhook secret of this API key can no longer be read. ${advice}`
    : `This API key has no webhook secret, so its receiver could not verify notices. ${advice}`;
}

/**
 * Refuses a callback URL on relayed requests, which become no task.
 * @throws tasks.callback_url_invalid
 */
export function refuseCallback({ callbackUrl }: Pick<ClientRequest, 'callbackUrl'>): void {
  if (typeof callbackUrl !== 'string') return;
  throw taskErrors.callback_url_invalid({
    message: `Requests for this model are relayed to its vendor, so there is no task here to send notices about. Leave ${HEADER} out.`,
    param: HEADER,
  });
}
