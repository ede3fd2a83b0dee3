import { OperatorError } from '../../kernel/index.ts';
import type { StoredFile } from '../../store/ports/index.ts';
import type { BackupDeps } from './types.ts';

/** Stores a file of a backup. @throws `OperatorError` when the place does not take it */
export async function putPart(
  { place, signal }: Pick<BackupDeps, 'place' | 'signal'>,
  key: string,
  source: AsyncIterable<Uint8Array>,
): Promise<StoredFile> {
  const put = await place.objects.put(key, source, { signal });
  if (put.ok) return put.value;
  throw new OperatorError(`the backup could not be written to ${place.name}: ${put.error.message}`);
}

/** A text as a source of bytes. */
export async function* bytesOf(content: string | Uint8Array): AsyncGenerator<Uint8Array> {
  yield typeof content === 'string' ? Buffer.from(content) : content;
}
