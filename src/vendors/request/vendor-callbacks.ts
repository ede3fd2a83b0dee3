import { constantTimeEqual, hmacSha256Base64Url } from '../../kernel/index.ts';
import type { VendorCallbacks } from '../types.ts';

/** Below the gateway's public address; see `http/v1/callback-routes.ts`. */
const PATH = '/v1/callbacks';

/**
 * The token is base64url(HMAC-SHA256(CRYPTO_SECRET, "callback" NUL task id)): nobody can guess it,
 * and it costs no row. Former secrets verify addresses that were given out under them.
 */
export function createVendorCallbacks(
  secrets: readonly [string, ...string[]],
  publicAddress: () => string | undefined,
): VendorCallbacks {
  const sign = (secret: string, taskId: string) => hmacSha256Base64Url(secret, `callback\0${taskId}`);
  return {
    address(taskId) {
      const base = publicAddress() ?? '';
      return base === '' ? undefined : `${base}${PATH}/${taskId}/${sign(secrets[0], taskId)}`;
    },
    isGenuine(taskId, token) {
      let isGenuine = false;
      // Constant time: all secrets are tried, also after a match.
      for (const secret of secrets) isGenuine = constantTimeEqual(sign(secret, taskId), token) || isGenuine;
      return isGenuine;
    },
  };
}
