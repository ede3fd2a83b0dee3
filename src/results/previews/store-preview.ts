import { err, ok, type Result, type Sentence, toSentence } from '../../kernel/index.ts';
import type { CopiedFile } from '../../store/ports/index.ts';
import type { ResultDeps } from '../types.ts';
import type { StillImage } from './images/still-image.ts';

/** Why a preview was not stored. `place`: what the result storage refused, for administrators. */
export type PreviewFault = { kind: 'no_room' | 'unavailable'; place?: Sentence };

/** Whether one more preview of this size fits into what all of them may take. */
async function hasPreviewRoom({ store, kept }: Pick<ResultDeps, 'store' | 'kept'>): Promise<boolean> {
  const { previewBytes } = kept.settings();
  return previewBytes > 0 && (await store.previews.usage()).bytes < previewBytes;
}

/**
 * Writes a checked image to the result storage. Nothing needs it yet: hand what comes back
 * to the store.
 */
export async function storePreview(
  deps: Pick<ResultDeps, 'store' | 'clock' | 'kept'>,
  { image, group, signal }: { image: StillImage; group: string; signal: AbortSignal },
): Promise<Result<CopiedFile, PreviewFault>> {
  const { store, clock, kept } = deps;
  if (!(await hasPreviewRoom(deps))) return err({ kind: 'no_room' });
  const { daysFor, quotaFor } = kept.settings();
  const { type: mimeType, width, height, bytes } = image;
  const source = (async function* () {
    yield bytes;
  })();
  const stored = await kept.files.put(source, { maxBytes: bytes.byteLength, signal });
  if (!stored.ok) return err({ kind: 'unavailable', place: toSentence(stored.error) });
  // A sweep may have deleted an equal file between the copy and this announcement.
  const { sha256 } = stored.value;
  const isThere = (await store.results.expectFile(stored.value)) && (await kept.files.size(sha256)) !== undefined;
  if (!isThere) return err({ kind: 'unavailable' });
  const days = daysFor(group);
  const keptAt = clock.unix();
  const keptUntil = days === 0 ? 0 : keptAt + days * 86_400;
  return ok({ ...stored.value, mimeType, keptAt, keptUntil, size: { width, height }, quotaBytes: quotaFor(group) });
}
