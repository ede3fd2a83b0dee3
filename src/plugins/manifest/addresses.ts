import { isIPv6 } from 'node:net';
import { err, ok, type Result, trimTrailing } from '../../kernel/index.ts';
import type { RuleId } from './rules.ts';

/**
 * Labels of letters, digits and inner hyphens, at most 63 characters each and 253 together (RFC
 * 1123).
 */
export function isHostname(host: string): boolean {
  if (host.length === 0 || host.length > 253) return false;
  return host.split('.').every((label) => /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$/.test(label));
}

function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

/**
 * The host as it was written: the URL parser turns non-ASCII and percent-encoded names into
 * something else in silence.
 */
const writtenHost = (text: string): string => {
  const authority = /^[a-z]+:\/\/([^/?#\\]*)/i.exec(text)?.[1] ?? '';
  return authority.slice(authority.lastIndexOf('@') + 1).replace(/:\d*$/, '');
};

/**
 * A name that a vendor's own network may use: as `isHostname`, and with underscores, which
 * container networks have.
 */
const isNetworkHost = (host: string): boolean => isHostname(host.replaceAll('_', '0'));

/**
 * A host as requests will name it: lower case, addresses in their shortest form; `undefined` when
 * it is none.
 */
function canonicalHost(written: string): string | undefined {
  const plausible = written.startsWith('[') ? isIPv6(written.slice(1, -1)) : isNetworkHost(written);
  return plausible ? parseUrl(`http://${written}`)?.hostname : undefined;
}

export function isHttpUrl(text: string): boolean {
  const url = parseUrl(text);
  return url !== undefined && (url.protocol === 'http:' || url.protocol === 'https:') && url.hostname !== '';
}

/**
 * A website: absolute https URL, ASCII hostname, no credentials. Whitespace and backslashes are the
 * schema's to refuse.
 */
export function isWebsite(text: string): boolean {
  const url = parseUrl(text);
  const host = writtenHost(text);
  return (
    url?.protocol === 'https:' &&
    url.username === '' &&
    url.password === '' &&
    !/^[^/]*\/\/[^/?#]*@/.test(text) &&
    (host.startsWith('[') ? isIPv6(host.slice(1, -1)) : isHostname(host))
  );
}

/** Longest base URL after normalisation: the width of its column in new-api. */
const MAX_BASE_URL = 191;

/**
 * The base URL with its host in lower case and without trailing slashes; the rule that it breaks
 * when it is none.
 */
export function normalizeBaseUrl(text: string): Result<string, { rule: RuleId; message: string }> {
  const url = parseUrl(text);
  if (!url || canonicalHost(writtenHost(text)) === undefined) {
    return err({ rule: 'baseUrl.format', message: 'must have a valid ASCII host and a port of at most 65535' });
  }
  const path = trimTrailing(url.pathname, '/');
  const normalized = `${url.protocol}//${url.host}${path}`;
  return normalized.length > MAX_BASE_URL
    ? err({ rule: 'baseUrl.length', message: `must have at most ${MAX_BASE_URL} characters` })
    : ok(normalized);
}

/**
 * A `host` or `host:port` entry in lower case, addresses in their shortest form; the reason when it
 * is none.
 */
export function normalizeAllowedHost(entry: string): Result<string, string> {
  const match = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(entry);
  const host = canonicalHost(match?.[1] ?? '');
  const port = match?.[2];
  if (host === undefined) return err('is no valid host name or address');
  if (port === undefined) return ok(host);
  return Number(port) > 65_535 ? err('has a port above 65535') : ok(`${host}:${Number(port)}`);
}
