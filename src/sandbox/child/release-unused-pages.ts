import { dlopen } from 'bun:ffi';
import { readFileSync } from 'node:fs';

/** madvise(2): drops the pages from this process. Touched again, they are read from the file. */
const MADV_DONTNEED = 4;

/**
 * The function releases the pages of the program that this process has mapped: some 40 MB after a
 * start, of which an idle process touches a few. They are the file's own, so nothing is lost, and
 * come back when they are used. Linux only; elsewhere it does nothing.
 */
export function createPageRelease(): () => void {
  if (process.platform !== 'linux') return () => {};
  try {
    const { symbols } = dlopen('libc.so.6', { madvise: { args: ['u64', 'u64', 'i32'], returns: 'i32' } });
    const mappings = programMappings(readFileSync('/proc/self/smaps', 'utf8'));
    return () => {
      for (const { start, length } of mappings) symbols.madvise(start, length, MADV_DONTNEED);
    };
  } catch {
    // Keeping the memory does no harm.
    return () => {};
  }
}

/**
 * The read-only mappings of the executable without private pages, from the text of
 * /proc/self/smaps. They stay where they are for as long as the process lives; a library's may not.
 */
function programMappings(smaps: string): { start: bigint; length: bigint }[] {
  const found: { start: bigint; length: bigint }[] = [];
  for (const block of smaps.split(/\n(?=[0-9a-f]+-[0-9a-f]+ )/)) {
    const match = /^([0-9a-f]+)-([0-9a-f]+) r-[-x]p [^/\n]*(\/.*)\n/.exec(block);
    if (!match?.[3]?.startsWith(process.execPath) || !/^Anonymous: +0 kB$/m.test(block)) continue;
    const [start, end] = [BigInt(`0x${match[1]}`), BigInt(`0x${match[2]}`)];
    found.push({ start, length: end - start });
  }
  return found;
}
