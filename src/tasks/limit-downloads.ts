import { taskErrors } from './errors.ts';
import { createPlaces, type Place } from './hold-places.ts';

/** Most downloads with API keys at once: of this node, of one user. Those by link have places of their own. */
type DownloadLimits = { node: number; user: number };

/** Counts downloads with API keys, so that one user cannot take all connections to a vendor. */
export type DownloadGate = {
  /** Gives the place back when called, once. @throws tasks.artifact_access_limited naming the limit */
  enter(userId: number): () => void;
};

const RETRY_AFTER_SECONDS = 5;

export function createDownloadGate({ node, user }: DownloadLimits): DownloadGate {
  const places = createPlaces<Place & { whose: string }>();
  return {
    enter(userId) {
      const taken = places.take([
        { name: 'node', most: node, whose: 'from this gateway' },
        { name: `user ${userId}`, most: user, whose: 'of your account' },
      ]);
      if (!taken.full) return taken.leave;
      const { whose, most } = taken.full;
      throw taskErrors.artifact_access_limited({
        message: `Too many downloads ${whose} at once: at most ${most}. Try again when one has ended.`,
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    },
  };
}
