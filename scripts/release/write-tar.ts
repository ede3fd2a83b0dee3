export type ArchiveFile = {
  /** With forward slashes. A folder ends in one and has no content. */
  path: string;
  content: Uint8Array;
  mode: number;
};

const BLOCK = 512;

/**
 * A tar archive (ustar) of these files, in the order of their paths. All belong to root and have
 * the time `mtime` in seconds: the same files give the same bytes.
 */
export function writeTar(files: readonly ArchiveFile[], mtime: number): Uint8Array<ArrayBuffer> {
  const parts = sortFiles(files).flatMap((file) => {
    const { byteLength } = file.content;
    const padding = (BLOCK - (byteLength % BLOCK)) % BLOCK;
    return [writeHeader(file, mtime), file.content, new Uint8Array(padding)];
  });
  // Two empty blocks end an archive.
  return new Uint8Array(Buffer.concat([...parts, new Uint8Array(2 * BLOCK)]));
}

export const sortFiles = (files: readonly ArchiveFile[]): ArchiveFile[] =>
  [...files].sort((a, b) => (a.path < b.path ? -1 : 1));

function writeHeader({ path, content, mode }: ArchiveFile, mtime: number): Uint8Array {
  if (Buffer.byteLength(path) > 100) throw new Error(`${path} is too long for an archive`);
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`;
  header.write(path, 0);
  header.write(octal(mode, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  header.write(octal(content.byteLength, 11), 124);
  header.write(octal(mtime, 11), 136);
  // The checksum counts itself as blanks.
  header.write(' '.repeat(8), 148);
  header.write(path.endsWith('/') ? '5' : '0', 156);
  header.write('ustar\x0000', 257);
  header.write('root', 265);
  header.write('root', 297);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}
