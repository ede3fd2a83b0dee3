import { err, ok, type Result } from '../../kernel/index.ts';
import { canonicalHost, checkAddress, isInRanges } from '../../upstream/index.ts';

/** WEBHOOK_ALLOWED_HOSTS, read: who may be called over plain http or at a private address. */
export type AllowedReceivers = {
  /** Host names as a URL holds them. */
  names: readonly string[];
  /** Canonical CIDRs. */
  ranges: readonly string[];
};

/** Which addresses may be called back. */
export type CallbackUrls = {
  /** The URL, or the rule that it breaks as a sentence that names no part of it. */
  check(text: string): Result<URL, string>;
  /**
   * For `UpstreamRequest.privateHosts`: the host of a URL that `check` has passed, where it is
   * allowed by name.
   */
  privateHosts(url: URL): string[];
};

/** Longer ones are cut by proxies and logs in wide use. */
const MAX_LENGTH = 2048;

/**
 * https to public addresses; plain http, private and loopback addresses where the operator allows
 * the host. A name is judged by what it resolves to when the connection is made, by the client that
 * makes it; here is judged what the URL itself says.
 */
export function createCallbackUrls(allowed: AllowedReceivers): CallbackUrls {
  const isNamed = (url: URL) => allowed.names.includes(url.hostname);
  return {
    check(text) {
      if (text.length > MAX_LENGTH) return err(`It has more than ${MAX_LENGTH} characters.`);
      if (/[\s\p{Cc}]/u.test(text)) return err('It contains white space or control characters.');
      const url = URL.canParse(text) ? new URL(text) : undefined;
      // The parser would take `https:host` and `https:///host` for `https://host`.
      if (!url || !/^https?:\/\/[^/\\]/i.test(text)) return err('It must be an absolute https URL.');
      // An empty user (`https://@host`) is none to the parser, and a riddle to whoever reads the
      // URL.
      if (/^[^/]*\/\/[^/?#\\]*@/.test(text)) return err('It carries a user name or a password.');
      if (text.includes('#')) return err('It has a fragment (#…), which is never sent.');
      const literal = literalOf(url);
      const verdict = literal === undefined ? 'public' : checkAddress(literal);
      if (verdict === 'forbidden')
        return err('It names a link-local, metadata or reserved address, which is never called.');
      const isListed = isNamed(url) || (literal !== undefined && isInRanges(literal, allowed.ranges));
      if (isListed) return ok(url);
      if (verdict === 'private' || isThisMachine(url)) {
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

/** The address that a URL's host is; undefined where it is a name. */
function literalOf({ hostname }: URL): string | undefined {
  if (hostname.startsWith('[')) return hostname.slice(1, -1);
  // The parser has turned every spelling of an IPv4 address into four decimal parts.
  return /^[\d.]+$/.test(hostname) ? hostname.replace(/\.$/, '') : undefined;
}

/** RFC 6761: names that stand for this machine whatever a resolver says. */
const isThisMachine = ({ hostname }: URL): boolean => /(?:^|\.)localhost\.?$/.test(hostname);

/**
 * A callback URL for other eyes than its owner's: its query may hold the receiver's own secrets.
 */
export function shownUrl(text: string): string {
  const [address = '', ...query] = text.split('?');
  return query.length === 0 ? address : `${address}?…`;
}
