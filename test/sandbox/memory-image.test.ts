import { expect, test } from 'bun:test';
import { captureImage } from '../../src/sandbox/child/memory-image.ts';

const PAGE = 4096;
const HEAP_START = 2 * PAGE;
const BREAK_ADDRESS = 16;

test('restore leaves nothing of a call in the heap, within the image and above it', () => {
  const memory = new WebAssembly.Memory({ initial: 1 });
  const bytes = new Uint8Array(memory.buffer);
  const setBreak = (address: number): void => new DataView(memory.buffer).setUint32(BREAK_ADDRESS, address, true);
  // The loaded plugin fills one page, leaves one empty and uses a part of a third.
  setBreak(HEAP_START + 2 * PAGE + 100);
  bytes.fill(1, HEAP_START, HEAP_START + PAGE);
  bytes.fill(2, HEAP_START + 2 * PAGE, HEAP_START + 2 * PAGE + 100);
  const image = captureImage(memory, { breakAddress: BREAK_ADDRESS, heapStart: HEAP_START });
  const loaded = bytes.slice();

  const end = HEAP_START + 7 * PAGE + 50;
  setBreak(end);
  bytes.fill(9, HEAP_START, end);
  expect(image.restore()).toBe(end - HEAP_START);
  expect(bytes).toEqual(loaded);
  expect(image.restore()).toBe(2 * PAGE + 100);
  expect(bytes).toEqual(loaded);
});
