import { Elysia } from 'elysia';
import type { Kit } from '../pipeline/route-kit.ts';
import { renderDocs } from './docs-page.ts';
import type { OpenApiDocument } from './types.ts';

/**
 * `document` is called with the first request: the description is complete only after these routes
 * have joined the application.
 */
export function openApiRoutes(kit: Kit, document: () => OpenApiDocument) {
  let described: OpenApiDocument | undefined;
  let page: ReturnType<typeof renderDocs> | undefined;
  const describe = () => {
    described ??= document();
    return described;
  };
  return new Elysia({ normalize: false, tags: ['Operation'] })
    .use(kit)
    .get('/api/openapi.json', () => Response.json(describe()), {
      public: true,
      detail: { summary: 'This interface as OpenAPI 3.1' },
    })
    .get(
      '/api/docs',
      () => {
        page ??= renderDocs(describe());
        const { html, contentSecurityPolicy } = page;
        return new Response(html, {
          headers: {
            'content-type': 'text/html; charset=utf-8',
            'content-security-policy': contentSecurityPolicy,
          },
        });
      },
      { public: true, detail: { summary: 'This interface as a page' } },
    );
}
