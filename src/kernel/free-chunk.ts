/** Below this a chunk costs little, and its memory may not be its own. */
const LEAST_BYTES = 16 * 1024;

/**
 * Gives the memory of a chunk back at once; the chunk is empty afterwards. For bytes that only pass
 * through: chunks of half a mebibyte would wait for the garbage collector by the hundred. A chunk
 * that shares its memory with others is left alone, and so is one that was given back before.
 */
export function freeChunk(chunk: Uint8Array): void {
  if (chunk.byteLength < LEAST_BYTES) return;
  const { buffer } = chunk;
  if (buffer instanceof ArrayBuffer && buffer.byteLength === chunk.byteLength) buffer.transfer(0);
}
