import { expect, test } from 'bun:test';
import { createSmallFiles } from '../../src/files/small-files.ts';

const KIB = 1024;

/** A store of files whose digest is their name, and how often each was opened. */
function openFiles(sizes: Record<string, number>) {
  const opened: string[] = [];
  let size = () => 0;
  const files = {
    async open(sha256: string) {
      opened.push(sha256);
      const bytes = sizes[sha256];
      return bytes === undefined ? undefined : new Blob([new Uint8Array(bytes).fill(7)]);
    },
  };
  const small = createSmallFiles({ files }, (_name, count) => {
    size = count;
  });
  return { small, opened, size: () => size() };
}

test('a small file is read once; a large one is left to the operating system', async () => {
  const { small, opened } = openFiles({ small: 64 * KIB, large: 64 * KIB + 1 });
  for (let i = 0; i < 3; i += 1)
    expect((await small.read({ sha256: 'small', bytes: 64 * KIB }))?.byteLength).toBe(64 * KIB);
  expect(await small.read({ sha256: 'large', bytes: 64 * KIB + 1 })).toBeUndefined();
  expect(opened).toEqual(['small']);
});

test('a file that is missing or cut short is not held', async () => {
  const { small, opened, size } = openFiles({ cut: 10 });
  for (const sha256 of ['cut', 'missing', 'cut']) expect(await small.read({ sha256, bytes: 20 })).toBeUndefined();
  expect([opened, size()]).toEqual([['cut', 'missing', 'cut'], 0]);
});

test('they take 16 MiB of memory at most: the oldest leaves', async () => {
  const names = Array.from({ length: 300 }, (_, i) => `file ${i}`);
  const { small, opened, size } = openFiles(Object.fromEntries(names.map((name) => [name, 64 * KIB])));
  for (const sha256 of names) await small.read({ sha256, bytes: 64 * KIB });
  expect(size()).toBe(256);
  await small.read({ sha256: 'file 299', bytes: 64 * KIB });
  expect(opened).toHaveLength(300);
  await small.read({ sha256: 'file 0', bytes: 64 * KIB });
  expect(opened).toHaveLength(301);
});
