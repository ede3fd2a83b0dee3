import type { Artifact } from '../../plugins/index.ts';
import type { TaskRecord } from '../../store/ports/index.ts';

/** The key of a result that no plugin listed. */
export const RESULT_KEY = 'result';

const TYPES: readonly [type: Artifact['type'], pattern: RegExp][] = [
  ['image', /^data:image\/|^https?:[^?#]*\.(?:png|jpe?g|webp|gif|avif)(?:[?#]|$)/i],
  ['audio', /^data:audio\/|^https?:[^?#]*\.(?:mp3|wav|ogg|flac|m4a|aac)(?:[?#]|$)/i],
];

/**
 * The stored result as an artifact: a video, unless its address says something else. Undefined for
 * a task without one.
 */
export function resultArtifact({ status, execution: { result } }: TaskRecord): Artifact | undefined {
  if (status !== 'SUCCESS' || !result) return undefined;
  const start = 'url' in result ? result.url.slice(0, 65_536) : '';
  return { key: RESULT_KEY, type: TYPES.find(([, pattern]) => pattern.test(start))?.[0] ?? 'video' };
}

/**
 * Stands in links for the video of a task, whichever of its artifacts that is. No artifact's key
 * has a colon.
 */
export const VIDEO_LINK = 'variant:video';

/** No artifact's key has a colon. */
const PREFIX = 'preview:';

/** The key of an artifact's preview. */
export const previewKey = (artifactKey: string): string => `${PREFIX}${artifactKey}`;

/** The key of the artifact that a preview shows; undefined: `key` is no preview's. */
export const previewedKey = (key: string): string | undefined =>
  key.startsWith(PREFIX) ? key.slice(PREFIX.length) : undefined;
