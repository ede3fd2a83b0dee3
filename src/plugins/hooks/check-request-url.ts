import { err, ok, type Result } from '../../kernel/index.ts';
import { canonicalHost } from '../../upstream/index.ts';
import type { Manifest } from '../types.ts';

/** Longest URL that is sent (as in new-api). `data:` URLs have their own limit. */
export const MAX_URL_LENGTH = 65_536;

const portOf = (url: URL): string => url.port || (url.protocol === 'https:' ? '443' : '80');

/**
 * Whether the channel's credential may go to `url`: its host is that of the channel's base URL, or
 * one of `allowedHosts`. An entry with a port matches that port only, an entry without one the
 * scheme's default port. Redirects of such requests follow the same rule.
 */
export function allowsHost(manifest: Pick<Manifest, 'allowedHosts'>, channelBaseUrl: string, url: URL): boolean {
  const base = URL.parse(channelBaseUrl);
  if (base?.protocol === 'https:' && url.protocol !== 'https:') return false;
  if (base && canonicalHost(base) === canonicalHost(url)) return true;
  return manifest.allowedHosts.some((entry) => isHost(entry, url));
}

/**
 * Whether a URL's host is an entry `host` or `host:port` in lower case. One with a port matches
 * that port only, one without it the scheme's default port.
 */
function isHost(entry: string, url: URL): boolean {
  const hostname = url.hostname.toLowerCase();
  return /:\d+$/.test(entry) ? entry === `${hostname}:${portOf(url)}` : entry === hostname && url.port === '';
}

/** Whether a redirect may lead to `url`: entries are those of `isHost`, or `*.host`. */
export const isRedirectHost = (entries: readonly string[], url: URL): boolean =>
  entries.some((entry) =>
    entry.startsWith('*.') ? url.port === '' && url.hostname.endsWith(entry.slice(1)) : isHost(entry, url),
  );

type DescribedUrl = {
  channelBaseUrl: string;
  url: string;
  /** The channel's credential is not sent: any host is allowed. */
  credentialless: boolean;
};

/**
 * Checks the URL of a request that a plugin described: absolute http(s) without user info, fragment
 * or whitespace, never http where the channel is https, and to an allowed host.
 */
export function checkRequestUrl(
  manifest: Pick<Manifest, 'allowedHosts'>,
  { channelBaseUrl, url: text, credentialless }: DescribedUrl,
): Result<URL, string> {
  if (text.length > MAX_URL_LENGTH) return err(`the request URL is longer than ${MAX_URL_LENGTH} characters`);
  const url = /[\s\p{Cc}]/u.test(text) ? null : URL.parse(text);
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    return err('the request URL must be an absolute http or https URL');
  if (url.username !== '' || url.password !== '') return err('the request URL must not contain credentials');
  if (text.includes('#')) return err('the request URL must not have a fragment');
  if (credentialless || allowsHost(manifest, channelBaseUrl, url)) return ok(url);
  return err(`plugin request host "${canonicalHost(url)}" is not allowed`);
}
