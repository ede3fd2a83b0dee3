import { gunzipSync, inflateRawSync } from 'node:zlib';

/** Three times what an executable has. */
const MAX_BYTES = 400 * 1024 * 1024;
const TAR_BLOCK = 512;

/**
 * The executable in an archive of a release; `undefined` if there is none. The archive's digest has
 * been checked: it is what a release wrote.
 */
export function unpackExecutable(archive: Uint8Array, file: string): Uint8Array | undefined {
  try {
    return file.endsWith('.zip')
      ? fromZip(Buffer.from(archive))
      : fromTar(gunzipSync(archive, { maxOutputLength: MAX_BYTES }));
  } catch {
    return undefined;
  }
}

function fromTar(tar: Buffer): Uint8Array | undefined {
  for (let at = 0; at + TAR_BLOCK <= tar.length; ) {
    const [name = ''] = tar.toString('utf8', at, at + 100).split('\0', 1);
    const size = Number.parseInt(tar.toString('latin1', at + 124, at + 135), 8);
    if (name === '' || !Number.isSafeInteger(size) || size < 0) return undefined;
    const start = at + TAR_BLOCK;
    if (name.endsWith('/taskgate')) return start + size <= tar.length ? tar.subarray(start, start + size) : undefined;
    at = start + Math.ceil(size / TAR_BLOCK) * TAR_BLOCK;
  }
  return undefined;
}

/** Reads the headers before the files, which a release writes with all sizes. */
function fromZip(zip: Buffer): Uint8Array | undefined {
  for (let at = 0; at + 30 <= zip.length && zip.readUInt32LE(at) === 0x04034b50; ) {
    const size = zip.readUInt32LE(at + 18);
    const nameEnd = at + 30 + zip.readUInt16LE(at + 26);
    const start = nameEnd + zip.readUInt16LE(at + 28);
    if (zip.toString('utf8', at + 30, nameEnd).endsWith('/taskgate.exe')) {
      return inflateRawSync(zip.subarray(start, start + size), { maxOutputLength: MAX_BYTES });
    }
    at = start + size;
  }
  return undefined;
}
