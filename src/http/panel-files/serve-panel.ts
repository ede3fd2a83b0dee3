import { promisify } from 'node:util';
import { brotliDecompress, gzip } from 'node:zlib';
import { matchesEntityTag, randomToken } from '../../kernel/index.ts';
import { chooseEncoding } from '../responses/compress-json.ts';
import { panelPolicy, type ThirdParties } from '../responses/content-security-policies.ts';
import { NONCE_PLACEHOLDER, type PanelFile, type PanelManifest } from './panel-manifest.ts';

const CACHE_FOR_A_YEAR = 'public, max-age=31536000, immutable';

/**
 * Serves the panel: its files under their names, and the page for every other address that a
 * browser navigates to. To a program, `/` says what runs here. Returns `undefined` for anything
 * else.
 */
export function createPanelServer(
  manifest: PanelManifest,
  {
    thirdParties,
    branding,
    version,
    resultsOrigin,
  }: {
    thirdParties: () => ThirdParties;
    branding: () => Branding;
    version: string;
    /** Where results are loaded from; empty: from the panel's own origin. */
    resultsOrigin: string;
  },
) {
  const files = new Map(manifest.files.map((file) => [file.path, file]));
  const gzipped: Gzipped = new Map();

  return function servePanel(request: Request, path: string): Promise<Response> | Response | undefined {
    const file = files.get(path);
    if (file) return serveFile(request, file, gzipped);
    if (path === WEB_MANIFEST_PATH) return serveWebManifest(request, branding());
    if (!isPageAddress(request, path)) return path === '/' ? describeGateway(request, version) : undefined;
    if (manifest.indexHtml === '') return undefined;
    return servePage(request, manifest.indexHtml, { thirdParties: thirdParties(), resultsOrigin });
  };
}

/** A navigating browser asks for HTML; scripts, SDKs and missing assets get a plain 404. */
const isPageAddress = (request: Request, path: string): boolean =>
  !/\.[A-Za-z0-9]+$/.test(path) && (request.headers.get('accept') ?? '').includes('text/html');

function describeGateway(request: Request, version: string): Response {
  const body = JSON.stringify({
    name: 'Taskgate',
    version,
    panel: '/',
    api: '/v1',
    docs: '/api/docs',
    openapi: '/api/openapi.json',
    health: '/readyz',
  });
  const headers = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) };
  return new Response(request.method === 'HEAD' ? null : body, { headers: { ...headers, vary: 'accept' } });
}

function servePage(
  request: Request,
  indexHtml: string,
  loads: { thirdParties: ThirdParties; resultsOrigin: string },
): Response {
  const nonce = randomToken(16);
  const page = indexHtml.replaceAll(NONCE_PLACEHOLDER, nonce);
  return new Response(request.method === 'HEAD' ? null : page, {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': panelPolicy(nonce, loads),
      // A cached page would carry the nonce of another response.
      'cache-control': 'no-store',
    },
  });
}

/** Bodies by path of the file that is stored. */
type Gzipped = Map<string, Promise<Uint8Array<ArrayBuffer>>>;

async function serveFile(request: Request, file: PanelFile, gzipped: Gzipped): Promise<Response> {
  const encoding = file.brotli === undefined ? undefined : chooseEncoding(request, ['br', 'gzip']);
  const headers = new Headers({
    'content-type': file.contentType,
    'cache-control': file.etag === undefined ? CACHE_FOR_A_YEAR : 'no-cache',
    vary: 'accept-encoding',
  });
  if (file.etag !== undefined) {
    const etag = encoding === undefined ? file.etag : file.etag.replace(/"$/, `-${encoding}"`);
    headers.set('etag', etag);
    if (matchesEntityTag(request.headers.get('if-none-match'), etag))
      return new Response(null, { status: 304, headers });
  }
  if (encoding !== undefined) headers.set('content-encoding', encoding);
  return new Response(request.method === 'HEAD' ? null : await openFile(file, encoding, gzipped), { headers });
}

/**
 * Few clients take no compression: for them a file is unpacked while it is sent, as fast as they
 * read. Browsers take Brotli over TLS only, so for others it is packed again, once.
 */
async function openFile(
  { path, file, brotli }: PanelFile,
  encoding: 'br' | 'gzip' | undefined,
  gzipped: Gzipped,
): Promise<BodyInit> {
  const stored = brotli ?? file;
  if (stored === undefined) throw new Error(`The panel's manifest has no content for ${path}.`);
  if (brotli === undefined || encoding === 'br') return Bun.file(stored);
  // The name is missing in the types.
  if (encoding === undefined)
    return Bun.file(brotli)
      .stream()
      .pipeThrough(new DecompressionStream('brotli' as CompressionFormat));
  const packing = gzipped.get(brotli) ?? recompressAsGzip(brotli);
  gzipped.set(brotli, packing);
  return packing;
}

/** Other threads take some milliseconds for it. */
async function recompressAsGzip(brotli: string): Promise<Uint8Array<ArrayBuffer>> {
  const plain = await promisify(brotliDecompress)(await Bun.file(brotli).bytes());
  return new Uint8Array(await promisify(gzip)(plain, { level: 9 }));
}

/** What the operator made of the panel's looks. `logo`: the path of the picture, or empty. */
export type Branding = { name: string; logo: string };

const WEB_MANIFEST_PATH = '/manifest.webmanifest';

/** Makes the panel installable, under the gateway's name. */
function serveWebManifest(request: Request, { name, logo }: Branding): Response {
  const own = ['192', '512'].map((size) => ({
    src: `/icons/icon-${size}.png`,
    sizes: `${size}x${size}`,
    type: 'image/png',
  }));
  const maskable = { src: '/icons/icon-maskable-512.png', sizes: '512x512', type: 'image/png', purpose: 'maskable' };
  const icons = logo === '' ? [...own, maskable] : [{ src: logo, sizes: 'any', type: 'image/png' }, ...own];
  const body = JSON.stringify({
    id: '/',
    name,
    short_name: name.slice(0, 12),
    start_url: '/',
    scope: '/',
    display: 'standalone',
    background_color: '#f7f6f2',
    theme_color: '#f7f6f2',
    icons,
  });
  const headers = { 'content-type': 'application/manifest+json', 'cache-control': 'no-cache' };
  return new Response(request.method === 'HEAD' ? null : body, { headers });
}
