/**
 * What a vendor's bytes are served as. `link`, `key`: an artifact, fetched by its link or with an
 * API key. `api`: the response of a relayed call.
 */
export type ContentUse = 'link' | 'key' | 'api';

/** Types that browsers may display. Pages, scripts and SVG of a vendor are only ever downloaded. */
const INLINE = /^(?:video|audio|image)\/(?!.*(?:svg|xml))/;
const API_TYPES: ReadonlySet<string> = new Set(['application/json', 'text/event-stream', 'text/plain']);
const DOWNLOAD = 'application/octet-stream';
/** Several ranges of a kept result. No browser displays it. */
const PARTS = 'multipart/byteranges';

const MAX_TYPE = 256;
const ESSENCE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;
/** Only unquoted values are kept: a quoted one may contain a comma, at which some readers split. */
const PARAMETER = /^[a-z0-9-]{1,40}=[a-z0-9!#$&^_.+-]{1,100}$/i;
const QUOTED_PARAMETER = /^[a-z0-9-]{1,40}="[a-z0-9 !#$&^_.+-]{0,100}"$/i;
const FILE_NAME = /;[ \t]?filename="?([A-Za-z0-9][A-Za-z0-9._ -]{0,150})"?(?:;|$)/i;

/**
 * Accepts a header only if it is exactly one media type: otherwise readers could disagree on it.
 */
function readMediaType(header: string | undefined): { essence: string; parameters: string[] } | undefined {
  if (header === undefined || header.length > MAX_TYPE) return undefined;
  const [first = '', ...rest] = header.split(';').map((part) => part.trim());
  const essence = first.toLowerCase();
  if (!ESSENCE.test(essence)) return undefined;
  if (!rest.every((part) => PARAMETER.test(part) || QUOTED_PARAMETER.test(part))) return undefined;
  return { essence, parameters: rest.filter((part) => PARAMETER.test(part)) };
}

function allows(use: ContentUse, essence: string): boolean {
  if (use !== 'api') return essence === PARTS || INLINE.test(essence);
  return API_TYPES.has(essence) || INLINE.test(essence) || /^application\/[^/]+\+json$/.test(essence);
}

/**
 * The vendor's headers, overridden by ours: the gateway decides what a browser may do with the
 * bytes.
 */
export function contentHeaders(vendor: Record<string, string>, use: ContentUse): Headers {
  const headers = new Headers(vendor);
  const type = readMediaType(vendor['content-type']);
  if (type && allows(use, type.essence)) {
    headers.set('content-type', [type.essence, ...type.parameters].join('; '));
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
