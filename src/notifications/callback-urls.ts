import { err, ok, type Sentence, sentence } from '../kernel/index.ts';
import type { PresentedKey } from '../store/ports/index.ts';
import { canonicalHost, checkAddress, isInRanges } from '../upstream/index.ts';
import { notificationErrors } from './errors.ts';
import { canSign } from './sign-message.ts';
import type { AllowedReceivers, CallbackUrls, WebhookServices } from './types.ts';

/** Common proxies and logs truncate longer URLs. A URL is stored and called percent-encoded. */
const MAX_LENGTH = 2048;

/**
 * Allows https to public addresses, and plain http, private and loopback addresses when the
 * operator allows the host. This checks only the URL itself. The HTTP client checks what a name
 * resolves to when it connects.
 */
export function createCallbackUrls(allowed: AllowedReceivers): CallbackUrls {
  const isNamed = (url: URL) => allowed.names.includes(url.hostname);
  return {
    check(text) {
      if (text.length > MAX_LENGTH) return err(sentence('webhooks.length', { max: MAX_LENGTH }));
      if (/[\s\p{Cc}]/u.test(text)) return err(sentence('webhooks.space'));
      const url = URL.canParse(text) ? new URL(text) : undefined;
      // The URL parser reads `https:host` and `https:///host` as `https://host`.
      if (!url || !/^https?:\/\/[^/\\]/i.test(text)) return err(sentence('webhooks.absolute'));
      if (url.href.length > MAX_LENGTH) return err(sentence('webhooks.length', { max: MAX_LENGTH }));
      // The URL parser ignores an empty user (`https://@host`), but such a URL misleads its
      // readers.
      if (/^[^/]*\/\/[^/?#\\]*@/.test(text)) return err(sentence('webhooks.credentials'));
      if (text.includes('#')) return err(sentence('webhooks.fragment'));
      const literal = readLiteralAddress(url);
      const scope = literal === undefined ? 'public' : checkAddress(literal);
      if (scope === 'forbidden') return err(sentence('webhooks.reserved'));
      const isListed = isNamed(url) || (literal !== undefined && isInRanges(literal, allowed.ranges));
      if (isListed) return ok(url);
      if (scope === 'private' || isThisMachine(url)) {
        return err(sentence('webhooks.private'));
      }
      if (url.protocol !== 'https:') {
        return err(sentence('webhooks.https'));
      }
      return ok(url);
    },
    privateHosts: (url) => (isNamed(url) ? [canonicalHost(url)] : []),
  };
}

/** The IP address in a URL's host; undefined when the host is a name. */
function readLiteralAddress({ hostname }: URL): string | undefined {
  if (hostname.startsWith('[')) return hostname.slice(1, -1);
  // The URL parser has normalized every notation of an IPv4 address to four decimal parts.
  return /^[\d.]+$/.test(hostname) ? hostname.replace(/\.$/, '') : undefined;
}

/** RFC 6761: these names always mean this machine, whatever a resolver says. */
const isThisMachine = ({ hostname }: URL): boolean => /(?:^|\.)localhost\.?$/.test(hostname);

/**
 * A callback URL to show to others than its owner: without its query, which may contain secrets.
 */
export function shownUrl(text: string): string {
  const [address = '', ...query] = text.split('?');
  return query.length === 0 ? address : `${address}?…`;
}

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
    const source =
      requested === undefined ? sentence('webhooks.key_address') : sentence('webhooks.header', { header: HEADER });
    throw notificationErrors.callback_url_invalid({
      message: sentence('webhooks.address', { source, fault: checked.error }),
      param: requested === undefined ? 'webhook_url' : HEADER,
    });
  }
  if (!key || !canSign(secretBox, key)) {
    throw notificationErrors.webhook_secret_required({ message: missingSecret(key), param: HEADER });
  }
  return checked.value.href;
}

function missingSecret(key: PresentedKey | null): Sentence {
  const params = { id: key?.id ?? ':id' };
  return key?.webhookSecretSealed
    ? sentence('webhooks.secret_unread', params)
    : sentence('webhooks.secret_missing', params);
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
