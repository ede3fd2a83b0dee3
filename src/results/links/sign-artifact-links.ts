/**
 * Signs links to artifacts and verifies what a link presents. How long a link lives is decided in
 * `issue-artifact-links.ts`; `../serving/open-linked-artifact.ts` refuses what has expired or was
 * ended.
 */
import { constantTimeEqual, createSemaphore, hmacSha256Base64Url, type ReportCacheSize } from '../../kernel/index.ts';
import type { Counters } from '../../store/ports/index.ts';
import { vendorErrors } from '../../vendors/index.ts';
import type { LinkLimit, LinkLimits, LinkTerms, VerifiedLink, VerifiedLinks } from '../types.ts';

const UNLIMITED: LinkTerms = { expiresAt: 0, version: 0 };
const WITH_TERMS = /^(\d{1,12})\.(\d{1,12})(?:\.(\d{1,12}))?\.([\w-]{43})$/;

/**
 * The capability of one artifact of one task: base64url(HMAC-SHA256(CRYPTO_SECRET, "v1" NUL task id
 * NUL artifact key)), 43 characters (as in new-api). With an expiry or a version it is
 * `expiresAt.version.` and the same over "v2" with both of them; with a version in the task it is
 * `expiresAt.version.taskVersion.` and the same over "v3" with the three. So links that were made
 * before a term existed stay valid. Rotating the secret invalidates them, unless the old secret is
 * kept as a previous one.
 */
export function artifactCapability(
  secret: string,
  artifact: { taskId: string; artifactKey: string },
  { expiresAt, version, taskVersion = 0 }: LinkTerms = UNLIMITED,
): string {
  const { taskId, artifactKey } = artifact;
  if (taskVersion > 0) {
    const terms = `${expiresAt}\0${version}\0${taskVersion}`;
    const signed = hmacSha256Base64Url(secret, `v3\0${taskId}\0${artifactKey}\0${terms}`);
    return `${expiresAt}.${version}.${taskVersion}.${signed}`;
  }
  if (expiresAt === 0 && version === 0) return hmacSha256Base64Url(secret, `v1\0${taskId}\0${artifactKey}`);
  const signed = hmacSha256Base64Url(secret, `v2\0${taskId}\0${artifactKey}\0${expiresAt}\0${version}`);
  return `${expiresAt}.${version}.${signed}`;
}

/** The terms of a genuine link; undefined for any other. */
export function verifyCapability(
  secrets: readonly string[],
  artifact: { taskId: string; artifactKey: string },
  presented: string,
): LinkTerms | undefined {
  const match = WITH_TERMS.exec(presented);
  const taskVersion = match?.[3] === undefined ? {} : { taskVersion: Number(match[3]) };
  const terms = match ? { expiresAt: Number(match[1]), version: Number(match[2]), ...taskVersion } : UNLIMITED;
  let valid = false;
  // Constant time: all secrets are tried, also after a match.
  for (const secret of secrets)
    valid = constantTimeEqual(artifactCapability(secret, artifact, terms), presented) || valid;
  return valid ? terms : undefined;
}

const MAX_KNOWN = 5_000;

/**
 * Remembers the last genuine links: players request the same file again and again. Only what a
 * signature proves is remembered, and nothing that is refused, so that guesses displace nothing.
 */
export function createVerifiedLinks(secrets: readonly string[], reportCacheSize?: ReportCacheSize): VerifiedLinks {
  const known = new Map<string, VerifiedLink & { taskId: string; artifactKey: string }>();
  reportCacheSize?.('verified_links', () => known.size);

  return {
    verify({ taskId, artifactKey }, presented) {
      const found = known.get(presented);
      if (found?.taskId === taskId && found.artifactKey === artifactKey) return found;
      const terms = verifyCapability(secrets, { taskId, artifactKey }, presented);
      if (!terms) return undefined;
      const verified = { taskId, artifactKey, terms, wasKept: false };
      known.set(presented, verified);
      if (known.size > MAX_KNOWN) known.delete(known.keys().next().value as string);
      return verified;
    },
  };
}

const INVALID_WINDOW_SECONDS = 60;
/** Downloads may take long, but players retry soon. */
const BUSY_RETRY_SECONDS = 5;

export function createLinkLimit(
  { counters, reportCacheSize }: { counters: Counters; reportCacheSize?: ReportCacheSize },
  limits: Omit<LinkLimits, 'days'>,
): LinkLimit {
  const limit = createSemaphore();
  // At most two names for each running download.
  reportCacheSize?.('downloads_by_link', limit.size);
  return {
    async countInvalid(address) {
      const { count } = await counters.add(`artifact-link:${address}`, 1, INVALID_WINDOW_SECONDS);
      if (count <= limits.invalidPerMinute) return;
      // Always the whole window, so that a client that guesses links learns nothing of the clock.
      throw vendorErrors.artifact_access_limited({ retryAfterSeconds: INVALID_WINDOW_SECONDS });
    },
    acquire({ address, artifact }) {
      const slots = limit.tryAcquire([
        { name: 'node', max: limits.downloads.node },
        { name: `address ${address}`, max: limits.downloads.address },
        { name: `artifact ${artifact}`, max: limits.downloads.artifact },
      ]);
      if (!slots.full) return slots.release;
      throw vendorErrors.artifact_access_limited({ retryAfterSeconds: BUSY_RETRY_SECONDS });
    },
  };
}
