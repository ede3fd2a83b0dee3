import { streamChunks } from '../../v1/stream-chunks.ts';
import type { RunningExport } from './limit-exports.ts';

/** As the listener's idle timeout. */
const STALL_MS = 120_000;

/**
 * Streams the pieces of one document. When the access ends, or a piece cannot be read, the
 * connection breaks, so that no one takes a part for the whole.
 */
export function streamDocument(
  pieces: AsyncIterable<string>,
  { access: { signal }, end }: RunningExport,
): ReadableStream<Uint8Array> {
  const iterator = pieces[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  const source = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await iterator.next();
          if (signal.aborted) throw new Error('the export was ended');
          if (!done) return controller.enqueue(encoder.encode(value));
          end();
          controller.close();
        } catch (error) {
          end();
          controller.error(error);
        }
      },
      async cancel() {
        end();
        await iterator.return?.();
      },
    },
    { highWaterMark: 1 },
  );
  return streamChunks(source, STALL_MS);
}
