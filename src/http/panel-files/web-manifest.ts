/** What the operator made of the panel's looks. `logo`: the path of the picture, or empty. */
export type Branding = { name: string; logo: string };

export const WEB_MANIFEST_PATH = '/manifest.webmanifest';

/** Makes the panel installable, under the gateway's name. */
export function serveWebManifest(request: Request, { name, logo }: Branding): Response {
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
