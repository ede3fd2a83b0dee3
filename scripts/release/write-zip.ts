import { crc32, deflateRawSync } from 'node:zlib';
import { type ArchiveFile, sortFiles } from './write-tar.ts';

const DEFLATE = 8;
/** Version 2.0, and 3 for Unix: the upper half of the attributes is the file's mode. */
const [NEEDED, MADE_BY] = [20, 0x0314];

/** A zip archive of these files, in the order of their paths: the same give the same bytes. */
export function writeZip(files: readonly ArchiveFile[], mtime: number): Uint8Array<ArrayBuffer> {
  const time = dosTime(mtime);
  const parts: Uint8Array[] = [];
  const directory: Uint8Array[] = [];
  let offset = 0;
  for (const { path, content, mode } of sortFiles(files)) {
    const name = Buffer.from(path);
    const packed = deflateRawSync(content, { level: 9 });
    // What the header of a file and its entry in the directory have in common.
    const common = Buffer.alloc(26);
    common.writeUInt16LE(NEEDED, 0);
    common.writeUInt16LE(DEFLATE, 4);
    common.writeUInt32LE(time, 6);
    common.writeUInt32LE(crc32(content), 10);
    common.writeUInt32LE(packed.byteLength, 14);
    common.writeUInt32LE(content.byteLength, 18);
    common.writeUInt16LE(name.byteLength, 22);
    parts.push(Buffer.from('PK\x03\x04'), common, name, packed);
    const start = Buffer.from('PK\x01\x02\0\0');
    start.writeUInt16LE(MADE_BY, 4);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(((0o100000 | mode) << 16) >>> 0, 6);
    rest.writeUInt32LE(offset, 10);
    directory.push(start, common, rest, name);
    offset += 4 + common.byteLength + name.byteLength + packed.byteLength;
  }
  const directoryBytes = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06');
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(directoryBytes.byteLength, 12);
  end.writeUInt32LE(offset, 16);
  return new Uint8Array(Buffer.concat([...parts, directoryBytes, end]));
}

/** Date and time as zip has them, of two seconds' precision, here in UTC. */
function dosTime(seconds: number): number {
  const at = new Date(seconds * 1000);
  const date = ((at.getUTCFullYear() - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate();
  const time = (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1);
  return ((date << 16) | time) >>> 0;
}
