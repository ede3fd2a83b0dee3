/** In bytes, as all addresses below: offsets into the guest's linear memory. */
const PAGE = 4096;
const EMPTY_PAGE = Buffer.alloc(PAGE);

/**
 * `breakAddress`: where a guest's allocator stores its break, the end of all memory that it ever
 * took. `heapStart`: where its heap begins. Both are the same for every instance of one WebAssembly
 * module.
 */
export type HeapLayout = { breakAddress: number; heapStart: number };

/**
 * Finds the break by comparing memory before and after a large allocation. The break is the highest
 * of the words that moved and point into the heap, because nothing that the allocator hands out
 * lies above it. Use a throw-away instance: the break never goes back.
 *
 * @throws when the allocator is not the one that this build knows
 */
export function findHeapLayout(memory: WebAssembly.Memory, malloc: (size: number) => number): HeapLayout {
  const step = 1 << 20;
  const first = malloc(step);
  const heapStart = Math.floor(first / PAGE) * PAGE;
  const data = Buffer.from(memory.buffer, 0, heapStart);
  // Most of it is the guest's untouched stack. Copying only pages that hold something saves 5 MB of
  // page faults at start.
  const blank = Buffer.alloc(PAGE);
  const before = new Map<number, Buffer>();
  for (let page = 0; page < heapStart; page += PAGE) {
    if (data.compare(blank, 0, PAGE, page, page + PAGE) !== 0)
      before.set(page, Buffer.from(data.subarray(page, page + PAGE)));
  }
  const second = malloc(step);
  let breakAddress = -1;
  let highest = second + step - 1;
  for (let page = 0; page < heapStart; page += PAGE) {
    const old = before.get(page) ?? blank;
    // Compared page by page by the runtime: comparing words here and in `captureImage` took most of
    // a process's start.
    if (data.compare(old, 0, PAGE, page, page + PAGE) === 0) continue;
    for (let at = 0; at < PAGE; at += 4) {
      const value = data.readUInt32LE(page + at);
      const moved = value - old.readUInt32LE(at);
      if (moved >= step && moved < 2 * step && value > highest && value <= memory.buffer.byteLength) {
        highest = value;
        breakAddress = page + at;
      }
    }
  }
  if (breakAddress < 0) throw new Error('this build does not know the allocator of the guest');
  return { breakAddress, heapStart };
}

export interface MemoryImage {
  /** Size of the image. */
  readonly bytes: number;
  /** Resets the guest to the image. Returns the bytes of heap that were in use before. */
  restore(): number;
}

/**
 * Copies the non-zero pages of a loaded guest. `restore` writes them back and clears the rest of
 * the heap that was in use, so each call starts from the same state and finds nothing of another.
 * What lies below the stack pointer stays as it is: no guest code can read it.
 */
export function captureImage(memory: WebAssembly.Memory, layout: HeapLayout): MemoryImage {
  const runs: { offset: number; data: Uint8Array }[] = [];
  const all = Buffer.from(memory.buffer);
  const end = all.readUInt32LE(layout.breakAddress);
  let runStart = -1;
  for (let page = 0; page <= end; page += PAGE) {
    const used = all.compare(EMPTY_PAGE, 0, PAGE, page, page + PAGE) !== 0;
    if (used && runStart < 0) runStart = page;
    if (!used && runStart >= 0) {
      runs.push({ offset: runStart, data: new Uint8Array(all.subarray(runStart, page)) });
      runStart = -1;
    }
  }
  if (runStart >= 0) {
    runs.push({ offset: runStart, data: new Uint8Array(all.subarray(runStart, Math.ceil((end + 1) / PAGE) * PAGE)) });
  }

  let target = all;
  return {
    bytes: runs.reduce((sum, run) => sum + run.data.length, 0),
    restore() {
      if (target.buffer !== memory.buffer) target = Buffer.from(memory.buffer);
      const used = target.readUInt32LE(layout.breakAddress);
      let cleared = layout.heapStart;
      for (const { offset, data } of runs) {
        if (offset > cleared) target.fill(0, cleared, offset);
        target.set(data, offset);
        cleared = Math.max(cleared, offset + data.length);
      }
      if (used > cleared) target.fill(0, cleared, used);
      return used - layout.heapStart;
    },
  };
}
