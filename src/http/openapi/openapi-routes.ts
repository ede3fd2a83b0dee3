import { Elysia } from 'elysia';
import type { PanelManifest } from '../panel-files/panel-manifest.ts';
import type { Kit } from '../pipeline/route-kit.ts';
import { answersJson, answersMedia } from './describe-answer.ts';
import { renderDocs } from './docs-page.ts';
import type { OpenApiDocument } from './types.ts';

/** The file of the panel's font for Latin text; its name has a hash. */
const FONT = /^\/assets\/instrument-sans-latin-wght-normal-[^/]*\.woff2$/;

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
  let page: (ReturnType<typeof renderDocs> & { gatewayName: string }) | undefined;
  const fontUrl = panel.files.find(({ path }) => FONT.test(path))?.path ?? '';
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
        const name = gatewayName();
        if (page?.gatewayName !== name) {
          page = { gatewayName: name, ...renderDocs(await describe(), { gatewayName: name, fontUrl }) };
        }
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
