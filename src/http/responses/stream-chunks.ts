import { detachBuffer } from '../../kernel/index.ts';

/**
 * Streams the bytes of `source` to the client, and frees each chunk as soon as it is written:
 * `source` must not keep its chunks. The next chunk is requested when the one before has left. A
 * client that does not accept a chunk within `stallMs` is disconnected, even if its connection has
 * no idle timeout. `source` is cancelled when the client leaves or is disconnected. When `source`
 * fails, the connection breaks, so that the client does not take a part for the whole.
 */
export function streamChunks(source: ReadableStream<Uint8Array>, stallMs: number): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  const cancel = (reason?: unknown) => reader.cancel(reason).catch(() => undefined);
  const direct: Bun.DirectUnderlyingSource<Uint8Array> = {
    // Only this kind of stream says when a chunk was accepted: once `write` has settled, the
    // runtime no longer uses the chunk.
    type: 'direct',
    async pull(controller) {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        const size = value.byteLength;
        const written = controller.write(value);
        const isAccepted = await settlesWithin(written, stallMs);
        if (!isAccepted) {
          // The listener may still read the chunk: leave its memory to the garbage collector.
          void cancel();
          throw new Error(`the client did not accept a chunk within ${stallMs} ms`);
        }
        detachBuffer(value);
        // If nothing was written, the client is gone.
        if (size > 0 && (await written) === 0) return void cancel();
        // A small chunk may be an event that the client waits for.
        await controller.flush();
      }
    },
    cancel,
  };
  // The browsers' types, which the panel needs, do not have this kind of stream.
  return new ReadableStream<Uint8Array>(direct as unknown as UnderlyingDefaultSource<Uint8Array>);
}

/** True if `written` settles within `ms`. */
async function settlesWithin(written: number | Promise<number>, ms: number): Promise<boolean> {
  if (typeof written === 'number') return true;
  const { promise, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(() => resolve(false), ms);
  const done = written.then(
    () => true,
    () => true,
  );
  return Promise.race([done, promise]).finally(() => clearTimeout(timer));
}
