import { type AppError, type Clock, sentence } from '../../kernel/index.ts';
import type { Upstream } from '../../upstream/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors } from '../errors.ts';

export type QrCodeImage = { bytes: Uint8Array; mimeType: string };

/**
 * The QR code image of the official account, fetched from the configured URL, so that the panel's
 * pages load nothing from other sites. The route is public, so the image is cached for ten minutes,
 * a failure for thirty seconds.
 *
 * @throws `auth.method_disabled` while WeChat is off or no URL is set; `auth.provider_failed` when
 * the image could not be fetched.
 */
export type ReadQrCode = () => Promise<QrCodeImage>;

const CACHE_MS = 600_000;
const FAILURE_CACHE_MS = 30_000;
const TIMEOUT_MS = 5000;
const MAX_BYTES = 512 * 1024;

export function createQrCodeCache(deps: {
  upstream: Upstream;
  settings: () => AuthSettings;
  clock: Clock;
}): ReadQrCode {
  const { upstream, settings, clock } = deps;
  let cached: { url: string; untilMs: number; image: Promise<QrCodeImage> } | undefined;

  async function fetchImage(url: string): Promise<QrCodeImage> {
    const answer = await upstream.request({
      url,
      method: 'GET',
      headers: { accept: 'image/png,image/jpeg,image/gif,image/webp' },
      body: { kind: 'none' },
      privateHosts: [new URL(url).host.toLowerCase()],
      isKnownHost: () => true,
      maxRedirects: 3,
      connectTimeoutMs: TIMEOUT_MS,
      headersTimeoutMs: TIMEOUT_MS,
      idleTimeoutMs: TIMEOUT_MS,
      maxResponseBytes: MAX_BYTES,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (!answer.ok) throw failed(answer.error.message);
    if (answer.value.status !== 200) {
      answer.value.discard();
      throw failed(`The server answered with status ${answer.value.status}.`);
    }
    const bytes = await answer.value.bytes();
    if (!bytes.ok) throw failed(bytes.error.message);
    const mimeType = detectImageType(bytes.value);
    if (mimeType === undefined) throw failed('The file is not a PNG, JPEG, GIF or WebP.');
    return { bytes: bytes.value, mimeType };
  }

  return () => {
    const url = settings().providers.wechat?.qrCodeUrl ?? '';
    if (url === '') throw authErrors.method_disabled();
    const isFresh = cached && clock.monotonicMs() < cached.untilMs;
    if (cached?.url === url && isFresh) return cached.image;
    const image = fetchImage(url);
    const entry = { url, untilMs: clock.monotonicMs() + CACHE_MS, image };
    cached = entry;
    image.catch(() => {
      entry.untilMs = clock.monotonicMs() + FAILURE_CACHE_MS;
    });
    return image;
  };
}

/**
 * Recognised by its first bytes, whatever the server calls it: this origin serves nothing but
 * images here.
 */
function detectImageType(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, 12)).toString('latin1');
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (head.startsWith('GIF87a') || head.startsWith('GIF89a')) return 'image/gif';
  return head.startsWith('RIFF') && head.endsWith('WEBP') ? 'image/webp' : undefined;
}

const failed = (cause: string): AppError =>
  authErrors.provider_failed({ message: sentence('auth.wechat_picture'), cause });
