import { Elysia } from 'elysia';
import type { Kit } from '../pipeline/route-kit.ts';
import { answersJson, answersMedia } from './describe-answer.ts';
import { renderDocs } from './docs-page.ts';
import type { OpenApiDocument } from './types.ts';

/**
 * `document` is called with the first request: the description is complete only after these routes
 * have joined the application.
 */
export function openApiRoutes(kit: Kit, document: () => Promise<OpenApiDocument>) {
  let described: Promise<OpenApiDocument> | undefined;
  let page: ReturnType<typeof renderDocs> | undefined;
  const describe = () => {
    described ??= document();
    return described;
  };
  return new Elysia({ normalize: false, tags: ['Operation'] })
    .use(kit)
    .get('/api/openapi.json', async () => Response.json(await describe()), {
      public: true,
      detail: { summary: 'This interface as OpenAPI 3.1', ...answersJson('The document') },
    })
    .get(
      '/api/docs',
      async () => {
        page ??= renderDocs(await describe());
        const { html, contentSecurityPolicy } = page;
        return new Response(html, {
          headers: {
            'content-type': 'text/html; charset=utf-8',
            'content-security-policy': contentSecurityPolicy,
          },
        });
      },
      { public: true, detail: { summary: 'This interface as a page', ...answersMedia('The page', 'text/html') } },
    );
}
