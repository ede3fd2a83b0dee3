import { isIPv6 } from 'node:net';
import { err, ok, type Result } from '../../kernel/index.ts';

/** Labels of letters, digits and inner hyphens, at most 63 characters each and 253 together (RFC 1123). */
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

/** The host as it was written: the URL parser turns non-ASCII and numeric forms into something else in silence. */
const writtenHost = (text: string): string => {
  const authority = /^[a-z]+:\/\/([^/?#\\]*)/i.exec(text)?.[1] ?? '';
  return authority.slice(authority.lastIndexOf('@') + 1).replace(/:\d*$/, '');
};

const hasHostname = (text: string): boolean => {
  const host = writtenHost(text);
  return host.startsWith('[') ? isIPv6(host.slice(1, -1)) : isHostname(host);
};

export function isHttpUrl(text: string): boolean {
  const url = parseUrl(text);
  return url !== undefined && (url.protocol === 'http:' || url.protocol === 'https:') && url.hostname !== '';
}

/** A website: absolute https URL, ASCII hostname, no credentials. Whitespace and backslashes are the schema's to refuse. */
export function isWebsite(text: string): boolean {
  const url = parseUrl(text);
  return (
    url?.protocol === 'https:' &&
    url.username === '' &&
    url.password === '' &&
    !/^[^/]*\/\/[^/?#]*@/.test(text) &&
    hasHostname(text)
  );
}

/** The base URL with its host in lower case and without trailing slashes; the reason when it is none. */
export function normalizeBaseUrl(text: string): Result<string, string> {
  const url = parseUrl(text);
  if (!url || !hasHostname(text)) return err('must have a valid ASCII host (punycode for international names)');
  const path = url.pathname.replace(/\/+$/, '');
  const normalized = `${url.protocol}//${url.host.toLowerCase()}${path}`;
  return normalized.length > 191 ? err('must have at most 191 characters') : ok(normalized);
}

/** A `host` or `host:port` entry in lower case, IPv6 in brackets and shortest form; the reason when it is none. */
export function normalizeAllowedHost(entry: string): Result<string, string> {
  const match = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(entry);
  const host = match?.[1] ?? '';
  const port = match?.[2];
  if (port !== undefined && (Number(port) < 1 || Number(port) > 65_535)) return err('has a port outside 1 to 65535');
  const suffix = port === undefined ? '' : `:${Number(port)}`;
  if (host.startsWith('[')) {
    if (!isIPv6(host.slice(1, -1))) return err('is not a valid IPv6 address');
    return ok(`${new URL(`http://${host}`).hostname}${suffix}`);
  }
  return isHostname(host) ? ok(`${host.toLowerCase()}${suffix}`) : err('is not a valid host name');
}
