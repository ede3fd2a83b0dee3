import { isDisplayed, readMediaType, writeMediaType } from '../../results/index.ts';

/**
 * What a vendor's bytes are served as. `link`, `key`: an artifact, fetched by its link or with an
 * API key. `api`: the response of a relayed call.
 */
export type ContentUse = 'link' | 'key' | 'api';

const API_TYPES: ReadonlySet<string> = new Set(['application/json', 'text/event-stream', 'text/plain']);
const DOWNLOAD = 'application/octet-stream';

const FILE_NAME = /;[ \t]?filename="?([A-Za-z0-9][A-Za-z0-9._ -]{0,150})"?(?:;|$)/i;

function allows(use: ContentUse, essence: string): boolean {
  if (use !== 'api') return isDisplayed(essence);
  return API_TYPES.has(essence) || isDisplayed(essence) || /^application\/[^/]+\+json$/.test(essence);
}

/**
 * The vendor's headers, overridden by ours: the gateway decides what a browser may do with the
 * bytes. `isParts`: the gateway's own answer to several ranges, whose type clients need. A vendor's
 * could hold anything.
 */
export function contentHeaders(
  vendor: Record<string, string>,
  use: ContentUse,
  { isParts = false }: { isParts?: boolean | undefined } = {},
): Headers {
  const headers = new Headers(vendor);
  const type = readMediaType(vendor['content-type']);
  if (isParts) headers.set('content-disposition', 'attachment');
  else if (type && allows(use, type.essence)) {
    headers.set('content-type', writeMediaType(type));
  } else if (type || vendor['content-type'] !== undefined || use !== 'api') {
    const name = FILE_NAME.exec((vendor['content-disposition'] ?? '').slice(0, 1000))?.[1];
    headers.set('content-type', DOWNLOAD);
    headers.set('content-disposition', name === undefined ? 'attachment' : `attachment; filename="${name}"`);
  }
  headers.set('cache-control', 'private, no-store');
  headers.set('content-security-policy', "sandbox; default-src 'none'");
  // Pages of other sites may embed links. With an API key no page can embed anything.
  headers.set('cross-origin-resource-policy', use === 'link' ? 'cross-origin' : 'same-site');
  headers.set('referrer-policy', 'no-referrer');
  headers.set('x-content-type-options', 'nosniff');
  return headers;
}
