import { ICON_POLICY } from './content-security-policies.ts';
import { httpErrors } from './errors.ts';

/**
 * Serves an image that cannot run anything, SVG included. Browsers cache it for `maxAgeSeconds`.
 * @throws http.not_found if there is no image
 */
export function serveIcon(icon: { bytes: Uint8Array; mimeType: string } | undefined, maxAgeSeconds = 3600): Response {
  if (!icon) throw httpErrors.not_found();
  return new Response(new Uint8Array(icon.bytes), {
    headers: {
      'content-type': icon.mimeType,
      'cache-control': `private, max-age=${maxAgeSeconds}`,
      'content-security-policy': ICON_POLICY,
    },
  });
}
