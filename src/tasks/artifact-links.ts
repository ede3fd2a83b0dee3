import { constantTimeEqual, hmacSha256Base64Url } from '../kernel/index.ts';

/**
 * The capability of one artifact of one task: base64url(HMAC-SHA256(CRYPTO_SECRET, "v1" NUL task id NUL artifact key)), 43 characters
 * (as in new-api). Stateless and without expiry; a rotated secret ends it unless the old one is kept as previous.
 */
export const artifactCapability = (secret: string, taskId: string, artifactKey: string): string =>
  hmacSha256Base64Url(secret, `v1\0${taskId}\0${artifactKey}`);

export const verifyCapability = (
  secrets: readonly string[],
  taskId: string,
  artifactKey: string,
  presented: string,
): boolean => {
  let valid = false;
  // All secrets are tried whatever the first says, so that time tells nothing.
  for (const secret of secrets)
    valid = constantTimeEqual(artifactCapability(secret, taskId, artifactKey), presented) || valid;
  return valid;
};

/** An absolute link that works without a key. */
export const artifactUrl = (base: string, secret: string, taskId: string, artifactKey: string): string =>
  `${base}/v1/tasks/${taskId}/artifacts/${encodeURIComponent(artifactKey)}/content?access=${artifactCapability(secret, taskId, artifactKey)}`;
