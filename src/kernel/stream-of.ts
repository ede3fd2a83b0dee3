/**
 * A stream of `source` that reads ahead nothing. `onEnd` is called once, however it ends; a stream
 * that is cancelled also ends `source`.
 */
export function streamOf(source: AsyncIterable<Uint8Array>, onEnd: () => void = () => {}): ReadableStream<Uint8Array> {
  const reader = source[Symbol.asyncIterator]();
  const reading: UnderlyingDefaultSource<Uint8Array> = {
    async pull(controller) {
      try {
        const { done, value } = await reader.next();
        if (!done) return controller.enqueue(value);
        onEnd();
        controller.close();
      } catch (error) {
        onEnd();
        throw error;
      }
    },
    async cancel() {
      onEnd();
      await reader.return?.();
    },
  };
  return new ReadableStream(reading, { highWaterMark: 0 });
}
