import type { AppError, Clock } from '../../kernel/index.ts';
import type { Upstream } from '../../upstream/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';

export type Picture = { bytes: Uint8Array; mimeType: string };

/**
 * The QR code of the official account, fetched from where an administrator said it is: the panel's
 * pages ask no other site. Everybody may ask, so it is fetched at most once in ten minutes, once in
 * thirty seconds after trouble. Rejects with `auth.method_disabled` while WeChat is off or has no
 * picture; `auth.provider_failed` when no picture came.
 */
export type ReadQrCode = () => Promise<Picture>;

const KEPT_SECONDS = 600;
const KEPT_AFTER_TROUBLE_SECONDS = 30;
const PATIENCE_MS = 5000;
const MAX_BYTES = 512 * 1024;

export function createReadQrCode(deps: { upstream: Upstream; settings: () => AuthSettings; clock: Clock }): ReadQrCode {
  const { upstream, settings, clock } = deps;
  let kept: { url: string; until: number; picture: Promise<Picture> } | undefined;

  async function fetchPicture(url: string): Promise<Picture> {
    const answer = await upstream.request({
      url,
      method: 'GET',
      headers: { accept: 'image/png,image/jpeg,image/gif,image/webp' },
      body: { kind: 'none' },
      privateHosts: [new URL(url).host.toLowerCase()],
      maxRedirects: 3,
      connectTimeoutMs: PATIENCE_MS,
      headersTimeoutMs: PATIENCE_MS,
      idleTimeoutMs: PATIENCE_MS,
      maxResponseBytes: MAX_BYTES,
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    if (!answer.ok) throw failed(answer.error.message);
    if (answer.value.status !== 200) {
      answer.value.discard();
      throw failed(`It answered with status ${answer.value.status}.`);
    }
    const bytes = await answer.value.bytes();
    if (!bytes.ok) throw failed(bytes.error.message);
    const mimeType = checkPicture(bytes.value);
    if (mimeType === undefined) throw failed('It is no PNG, JPEG, GIF or WebP.');
    return { bytes: bytes.value, mimeType };
  }

  return () => {
    const url = settings().providers.wechat?.qrCodeUrl ?? '';
    if (url === '') throw authErrors.method_disabled();
    if (kept?.url === url && kept.until > clock.unix()) return kept.picture;
    const picture = fetchPicture(url);
    const entry = { url, until: clock.unix() + KEPT_SECONDS, picture };
    kept = entry;
    picture.catch(() => {
      entry.until = clock.unix() + KEPT_AFTER_TROUBLE_SECONDS;
    });
    return picture;
  };
}

/**
 * By its first bytes, whatever it calls itself: what is shown on this origin is a picture and
 * nothing else.
 */
function checkPicture(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, 12)).toString('latin1');
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (head.startsWith('GIF87a') || head.startsWith('GIF89a')) return 'image/gif';
  return head.startsWith('RIFF') && head.endsWith('WEBP') ? 'image/webp' : undefined;
}

const failed = (cause: string): AppError =>
  authErrors.provider_failed({ message: 'The picture of the WeChat account cannot be fetched at this time.', cause });
