import type { WatchCache } from '../../kernel/index.ts';
import { type LinkTerms, verifyCapability } from './artifact-links.ts';

const MAX_KNOWN = 5_000;

export type VerifiedLink = {
  readonly terms: LinkTerms;
  /** A hint: the artifact was kept at the last download. */
  wasKept: boolean;
};

export type VerifiedLinks = {
  /** A genuine link, undefined for any other. Whether it still opens something is decided later. */
  verify(artifact: { taskId: string; artifactKey: string }, presented: string): VerifiedLink | undefined;
};

/**
 * Remembers the last genuine links: players request the same file again and again. Only what a
 * signature proves is remembered, and nothing that is refused, so that guesses displace nothing.
 */
export function createVerifiedLinks(secrets: readonly string[], watchCache?: WatchCache): VerifiedLinks {
  const known = new Map<string, VerifiedLink & { taskId: string; artifactKey: string }>();
  watchCache?.('verified_links', () => known.size);

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
