import type { IconImage } from '../plugins/index.ts';
import { httpErrors } from './errors.ts';

/** The logo of a plugin as a file that can do nothing but be looked at. @throws http.not_found without one */
export function answerIcon(icon: IconImage | undefined): Response {
  if (!icon) throw httpErrors.not_found();
  return new Response(new Uint8Array(icon.bytes), {
    headers: {
      'content-type': icon.mimeType,
      'cache-control': 'private, max-age=3600',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    },
  });
}
