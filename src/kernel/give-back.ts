/**
 * Gives the memory of a chunk back at once; the chunk is empty afterwards. For bytes that only pass through: chunks of half a mebibyte and more
 * would wait for the garbage collector by the hundred. A chunk that shares its memory with others is left alone.
 */
export function giveBack(chunk: Uint8Array): void {
  const { buffer } = chunk;
  if (buffer instanceof ArrayBuffer && buffer.byteLength === chunk.byteLength) buffer.transfer(0);
}
