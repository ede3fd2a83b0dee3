import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Elysia } from 'elysia';
import { matchesEntityTag, sha256Hex } from '../../kernel/index.ts';
import type { PanelManifest } from '../panel-files/panel-manifest.ts';
import type { Kit } from '../pipeline/route-kit.ts';
import { chooseEncoding } from '../responses/compress-json.ts';
import { answersJson, answersMedia } from '../responses/describe-answer.ts';
import { renderDocs } from './docs-page.ts';
import type { OpenApiDocument } from './types.ts';

/** The file of the panel's font for Latin text; its name has a hash. */
const FONT = /^\/assets\/instrument-sans-latin-wght-normal-[^/]*\.woff2$/;

type Page = { text: string; contentType: string; contentSecurityPolicy?: string };
type Packed = { etag: string; plain: Uint8Array<ArrayBuffer>; gzipped: Uint8Array<ArrayBuffer> };

/** Each page is packed once, by another thread. */
const packed = new WeakMap<Page, Promise<Packed>>();

async function pack({ text }: Page): Promise<Packed> {
  const plain = new TextEncoder().encode(text);
  const gzipped = new Uint8Array(await promisify(gzip)(plain, { level: 9 }));
  // Weak: it is the same page in either form.
  return { etag: `W/"${sha256Hex(plain).slice(0, 32)}"`, plain, gzipped };
}

/** Sends a page that no client has to load twice. */
async function sendPage(request: Request, page: Page): Promise<Response> {
  const packing = packed.get(page) ?? pack(page);
  packed.set(page, packing);
  const { etag, plain, gzipped } = await packing;
  const headers = new Headers({
    'content-type': page.contentType,
    ...(page.contentSecurityPolicy === undefined ? {} : { 'content-security-policy': page.contentSecurityPolicy }),
    // It may be stored, and is asked about each time.
    ...{ 'cache-control': 'no-cache', etag, vary: 'accept-encoding' },
  });
  if (matchesEntityTag(request.headers.get('if-none-match'), etag)) {
    return new Response(null, { status: 304, headers });
  }
  const isPacked = chooseEncoding(request, ['gzip']) !== undefined;
  const body = isPacked ? gzipped : plain;
  if (isPacked) headers.set('content-encoding', 'gzip');
  headers.set('content-length', String(body.byteLength));
  return new Response(request.method === 'HEAD' ? null : body, { headers });
}

type Source = {
  document: () => Promise<OpenApiDocument>;
  gatewayName: () => string;
  panel: PanelManifest;
};

/**
 * `document` is called with the first request: the description is complete only after these routes
 * have joined the application.
 */
export function openApiRoutes(kit: Kit, { document, gatewayName, panel }: Source) {
  let described: Promise<OpenApiDocument> | undefined;
  /** The page under the name that the gateway had last. */
  let page: (Page & { gatewayName: string }) | undefined;
  let json: Page | undefined;
  const fontUrl = panel.files.find(({ path }) => FONT.test(path))?.path ?? '';
  const describe = () => {
    described ??= document();
    return described;
  };
  return new Elysia({ normalize: false, tags: ['Operation'] })
    .use(kit)
    .get(
      '/api/openapi.json',
      async ({ request }) => {
        json ??= { text: JSON.stringify(await describe()), contentType: 'application/json' };
        return sendPage(request, json);
      },
      {
        public: true,
        detail: { summary: 'Get this API as OpenAPI 3.1', ...answersJson('The document') },
      },
    )
    .get(
      '/api/docs',
      async ({ request }) => {
        const name = gatewayName();
        if (page?.gatewayName !== name) {
          const { html, contentSecurityPolicy } = renderDocs(await describe(), { gatewayName: name, fontUrl });
          page = { gatewayName: name, text: html, contentType: 'text/html; charset=utf-8', contentSecurityPolicy };
        }
        return sendPage(request, page);
      },
      { public: true, detail: { summary: 'Open the API reference', ...answersMedia('The page', 'text/html') } },
    );
}
