import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { Elysia } from 'elysia';
import { matchesEntityTag, sha256Hex } from '../../kernel/index.ts';
import type { Kit } from '../pipeline/route-kit.ts';
import { chooseEncoding } from '../responses/compress-json.ts';
import { answersJson } from '../responses/describe-answer.ts';
import type { OpenApiDocument } from './types.ts';

type Packed = { etag: string; plain: Uint8Array<ArrayBuffer>; gzipped: Uint8Array<ArrayBuffer> };

/** Packs the document, by another thread. */
async function pack(text: string): Promise<Packed> {
  const plain = new TextEncoder().encode(text);
  const gzipped = new Uint8Array(await promisify(gzip)(plain, { level: 9 }));
  // Weak: it is the same document in either form.
  return { etag: `W/"${sha256Hex(plain).slice(0, 32)}"`, plain, gzipped };
}

/** Sends the document, which no client has to load twice. */
function sendDocument(request: Request, { etag, plain, gzipped }: Packed): Response {
  const headers = new Headers({
    'content-type': 'application/json',
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

/**
 * `document` is called with the first request: the description is complete only after these routes
 * have joined the application.
 */
export function openApiRoutes(kit: Kit, document: () => Promise<OpenApiDocument>) {
  let packed: Promise<Packed> | undefined;
  return new Elysia({ normalize: false, tags: ['System'] })
    .use(kit)
    .get(
      '/api/openapi.json',
      async ({ request }) => {
        packed ??= document()
          .then((described) => pack(JSON.stringify(described)))
          .catch((error) => {
            packed = undefined;
            throw error;
          });
        return sendDocument(request, await packed);
      },
      {
        public: true,
        detail: { summary: 'Get this API as OpenAPI 3.1', ...answersJson('The document') },
      },
    )
    .get(
      '/api/docs',
      // Browsers keep what stands behind `#`.
      () => new Response(null, { status: 302, headers: { location: '/reference' } }),
      {
        public: true,
        detail: { summary: 'Open the API reference', responses: { '302': { description: 'Redirects to /reference' } } },
      },
    );
}
