/** No artifact's key has a colon. */
const PREFIX = 'preview:';

/** The key of an artifact's preview. */
export const previewKey = (artifactKey: string): string => `${PREFIX}${artifactKey}`;

/** The key of the artifact that a preview shows; undefined: `key` is no preview's. */
export const previewedKey = (key: string): string | undefined =>
  key.startsWith(PREFIX) ? key.slice(PREFIX.length) : undefined;
