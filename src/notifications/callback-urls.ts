import { err, ok } from '../kernel/index.ts';
import { canonicalHost, checkAddress, isInRanges } from '../upstream/index.ts';
import type { AllowedReceivers, CallbackUrls } from './types.ts';

/** Common proxies and logs truncate longer URLs. */
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
      if (text.length > MAX_LENGTH) return err(`It has more than ${MAX_LENGTH} characters.`);
      if (/[\s\p{Cc}]/u.test(text)) return err('It contains white space or control characters.');
      const url = URL.canParse(text) ? new URL(text) : undefined;
      // The URL parser reads `https:host` and `https:///host` as `https://host`.
      if (!url || !/^https?:\/\/[^/\\]/i.test(text)) return err('It must be an absolute https URL.');
      // The URL parser ignores an empty user (`https://@host`), but such a URL misleads its
      // readers.
      if (/^[^/]*\/\/[^/?#\\]*@/.test(text)) return err('It carries a user name or a password.');
      if (text.includes('#')) return err('It has a fragment (#…), which is never sent.');
      const literal = literalOf(url);
      const scope = literal === undefined ? 'public' : checkAddress(literal);
      if (scope === 'forbidden')
        return err('It names a link-local, metadata or reserved address, which is never called.');
      const isListed = isNamed(url) || (literal !== undefined && isInRanges(literal, allowed.ranges));
      if (isListed) return ok(url);
      if (scope === 'private' || isThisMachine(url)) {
        return err(
          'It names a private or loopback address, which the operator has not allowed (WEBHOOK_ALLOWED_HOSTS).',
        );
      }
      if (url.protocol !== 'https:') {
        return err(
          'It must begin with https://; plain http is for hosts that the operator allows (WEBHOOK_ALLOWED_HOSTS).',
        );
      }
      return ok(url);
    },
    privateHosts: (url) => (isNamed(url) ? [canonicalHost(url)] : []),
  };
}

/** The IP address in a URL's host; undefined when the host is a name. */
function literalOf({ hostname }: URL): string | undefined {
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
