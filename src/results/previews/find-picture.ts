import type { Artifact } from '../../plugins/index.ts';

const PICTURES = ['thumbnail', 'poster', 'cover', 'preview'];

/**
 * The vendor's own picture of a video or a sound: the image of the same task whose key is one of
 * these words with the same ending, as in `video-2` and `cover-2`.
 */
export function findPicture<T extends Pick<Artifact, 'key' | 'type'>>(
  artifacts: readonly T[],
  { key, type }: Pick<Artifact, 'key' | 'type'>,
): T | undefined {
  if (type !== 'video' && type !== 'audio') return undefined;
  const ending = key.replace(/^[A-Za-z]+/, '');
  const keys = PICTURES.map((word) => `${word}${ending}`);
  return artifacts.find((other) => other.type === 'image' && keys.includes(other.key));
}
