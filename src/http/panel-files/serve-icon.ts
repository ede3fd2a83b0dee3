import { httpErrors } from '../errors.ts';

/**
 * A picture as a file that can do nothing but be looked at; browsers keep it for `keepSeconds`.
 * @throws http.not_found without one
 */
export function serveIcon(icon: { bytes: Uint8Array; mimeType: string } | undefined, keepSeconds = 3600): Response {
  if (!icon) throw httpErrors.not_found();
  return new Response(new Uint8Array(icon.bytes), {
    headers: {
      'content-type': icon.mimeType,
      'cache-control': `private, max-age=${keepSeconds}`,
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    },
  });
}
