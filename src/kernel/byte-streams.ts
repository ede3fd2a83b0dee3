/**
 * A growing byte buffer, so that a text in a million small pieces does not allocate a million
 * objects.
 */
export function createByteBuffer() {
  let memory = new Uint8Array(1024);
  let filled = 0;
  const self = {
    size: () => filled,
    append(bytes: Uint8Array, from: number, to: number): void {
      const end = filled + to - from;
      if (end > memory.length) {
        const larger = new Uint8Array(Math.max(end, 2 * memory.length));
        larger.set(memory.subarray(0, filled));
        memory = larger;
      }
      // For a few bytes, a loop is faster than a call of the platform.
      if (to - from > 32) memory.set(bytes.subarray(from, to), filled);
      else for (let i = from, at = filled; i < to; i += 1, at += 1) memory[at] = bytes[i] as number;
      filled = end;
    },
    moveTo(other: { append(bytes: Uint8Array, from: number, to: number): void }): void {
      other.append(memory, 0, filled);
      filled = 0;
    },
    clear(): void {
      filled = 0;
    },
    /** The bytes appended since the last `clear` or `take`. Valid until the next `append`. */
    view: (): Uint8Array<ArrayBuffer> => memory.subarray(0, filled),
    /** Valid until the next `append`. */
    take(): Uint8Array {
      const taken = memory.subarray(0, filled);
      filled = 0;
      return taken;
    },
  };
  return self;
}

/**
 * A stream of `source` that reads ahead nothing. `onEnd` is called once, however it ends; a stream
 * that is cancelled also ends `source`.
 */
export function toStream(source: AsyncIterable<Uint8Array>, onEnd: () => void = () => {}): ReadableStream<Uint8Array> {
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

/** A smaller chunk costs little, and may share its memory. */
const LEAST_BYTES = 16 * 1024;

/**
 * Frees the memory of a chunk at once; the chunk is empty afterwards. For bytes that are only
 * passed on: hundreds of chunks of half a mebibyte would wait for the garbage collector. Leaves a
 * chunk alone that shares its memory, and one that was already freed.
 */
export function detachBuffer(chunk: Uint8Array): void {
  if (chunk.byteLength < LEAST_BYTES) return;
  const { buffer } = chunk;
  if (buffer instanceof ArrayBuffer && buffer.byteLength === chunk.byteLength) buffer.transfer(0);
}
