/** A smaller chunk costs little, and may share its memory. */
const LEAST_BYTES = 16 * 1024;

/**
 * Frees the memory of a chunk at once; the chunk is empty afterwards. For bytes that are only
 * passed on: hundreds of chunks of half a mebibyte would wait for the garbage collector. Leaves a
 * chunk alone that shares its memory, and one that was already freed.
 */
export function freeChunk(chunk: Uint8Array): void {
  if (chunk.byteLength < LEAST_BYTES) return;
  const { buffer } = chunk;
  if (buffer instanceof ArrayBuffer && buffer.byteLength === chunk.byteLength) buffer.transfer(0);
}
