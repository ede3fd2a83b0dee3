import { freeChunk } from '../../kernel/index.ts';

/**
 * The same bytes, for a response; `source` must not keep its chunks, whose memory is given back as
 * soon as they are written. A chunk is asked for when the one before has left; a client who has not
 * taken one within `stallMs` is cut off, however long his connection may idle. When he leaves, or
 * is cut off, `source` is cancelled. When `source` fails the connection breaks, so that what came
 * of it is not taken for the whole.
 */
export function streamChunks(source: ReadableStream<Uint8Array>, stallMs: number): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  const cancel = (reason?: unknown) => reader.cancel(reason).catch(() => undefined);
  const direct: Bun.DirectUnderlyingSource<Uint8Array> = {
    // Of all kinds of streams this one says when its chunk was accepted: once `write` has returned,
    // and has let go of it.
    type: 'direct',
    async pull(controller) {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        const size = value.byteLength;
        const written = controller.write(value);
        const isTaken = await settlesWithin(written, stallMs);
        if (!isTaken) {
          // The listener may still hold the chunk: its memory stays as it is until nobody knows it
          // any more.
          void cancel();
          throw new Error(`the client did not take a chunk within ${stallMs} ms`);
        }
        freeChunk(value);
        // Nothing was written: nobody is there any more.
        if (size > 0 && (await written) === 0) return void cancel();
        // Small chunks may be events that somebody waits for.
        await controller.flush();
      }
    },
    cancel,
  };
  // The types of browsers, which the panel needs, do not know this kind.
  return new ReadableStream<Uint8Array>(direct as unknown as UnderlyingDefaultSource<Uint8Array>);
}

/** Whether what was asked for came in time. */
async function settlesWithin(asked: number | Promise<number>, ms: number): Promise<boolean> {
  if (typeof asked === 'number') return true;
  const { promise, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(() => resolve(false), ms);
  const done = asked.then(
    () => true,
    () => true,
  );
  return Promise.race([done, promise]).finally(() => clearTimeout(timer));
}
