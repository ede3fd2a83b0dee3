import { isIPv6 } from 'node:net';
import { err, ok, type Result, type Sentence, sentence, trimTrailing } from '../../kernel/index.ts';
import { MAX_BASE_URL } from '../../store/ports/index.ts';
import type { RuleId } from './rules.ts';

/**
 * Whether a text is a host name of RFC 1123: labels of ASCII letters and digits, with hyphens
 * inside; at most 63 characters per label and 253 in all.
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

/** The host as it was written. The URL parser silently converts non-ASCII and encoded names. */
const writtenHost = (text: string): string => {
  const authority = /^[a-z]+:\/\/([^/?#\\]*)/i.exec(text)?.[1] ?? '';
  return authority.slice(authority.lastIndexOf('@') + 1).replace(/:\d*$/, '');
};

/** Like `isHostname`, but allows underscores, which names in container networks have. */
const isNetworkHost = (host: string): boolean => isHostname(host.replaceAll('_', '0'));

/**
 * A host in the form that requests use: lower case, addresses in their shortest form. `undefined`
 * for anything else.
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
 * Whether a text is an absolute https URL with an ASCII host name and without credentials. The
 * schema refuses whitespace and backslashes.
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

/** The base URL with its host in lower case and without trailing slashes, or the broken rule. */
export function normalizeBaseUrl(text: string): Result<string, Sentence & { rule: RuleId }> {
  const url = parseUrl(text);
  if (!url || canonicalHost(writtenHost(text)) === undefined) {
    return err({ rule: 'baseUrl.format', ...sentence('fault.base_host') });
  }
  const path = trimTrailing(url.pathname, '/');
  const normalized = `${url.protocol}//${url.host}${path}`;
  return normalized.length > MAX_BASE_URL
    ? err({ rule: 'baseUrl.length', ...sentence('fault.max_characters', { max: MAX_BASE_URL }) })
    : ok(normalized);
}

/**
 * A `host` or `host:port` in lower case with addresses in their shortest form, or what is wrong.
 */
export function normalizeAllowedHost(entry: string): Result<string, Sentence> {
  const match = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(entry);
  const host = canonicalHost(match?.[1] ?? '');
  const port = match?.[2];
  if (host === undefined) return err(sentence('fault.no_host'));
  if (port === undefined) return ok(host);
  return Number(port) > 65_535 ? err(sentence('fault.port')) : ok(`${host}:${Number(port)}`);
}
