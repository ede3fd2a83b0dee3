import { err, ok, type Result } from '../../../kernel/index.ts';
import type { ReadImage } from './still-image.ts';
import { readOrientation } from './still-image.ts';

const HEADER_BYTES = 12;
const CHUNK_BYTES = 8;
const ALPHA_FLAG = 0x10;
const ANIMATION_FLAG = 0x02;
const EXTENDED_BYTES = 10;
/** Not pixels: left out. */
const LEFT_OUT = ['ICCP', 'XMP ', 'EXIF'];

type Size = { width: number; height: number };
type Chunk = { type: string; data: Buffer };

/** A WebP with one image, lossy or lossless. Profiles and XMP are left out. */
export const readWebp: ReadImage = (file) => {
  const data = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  if (data.length < HEADER_BYTES + CHUNK_BYTES) return err('is cut off');
  const announced = data.readUInt32LE(4) + 8;
  if (announced !== data.length) return err(announced > data.length ? 'is cut off' : 'has bytes behind its end');
  const chunks = readChunks(data);
  if (!chunks.ok) return chunks;
  const types = chunks.value.map(({ type }) => type);
  if (types.includes('ANIM') || types.includes('ANMF')) return err('is animated');
  for (const { type, data: exif } of chunks.value) {
    const orientation = type === 'EXIF' ? readOrientation(exif) : ok('upright');
    if (!orientation.ok) return orientation;
  }
  const taken = chunks.value.filter(({ type }) => !LEFT_OUT.includes(type));
  const form = taken.map(({ type }) => type.trim()).join(' ');
  const forms = ['VP8', 'VP8L', 'VP8X VP8', 'VP8X VP8L', 'VP8X ALPH VP8'];
  const bitstream = taken.at(-1);
  if (!forms.includes(form) || !bitstream) return err('has chunks of an unknown kind or order');
  const size = bitstream.type === 'VP8L' ? readLossless(bitstream.data) : readLossy(bitstream.data);
  if (!size.ok) return size;
  const [first] = taken;
  if (first?.type !== 'VP8X') return ok({ type: 'image/webp', ...size.value, bytes: writeChunks([bitstream]) });
  const fault = checkExtended(first.data, size.value);
  if (fault !== undefined) return err(fault);
  const extended = Buffer.from(first.data);
  extended[0] = (extended[0] ?? 0) & ALPHA_FLAG;
  const rest = taken.slice(1);
  return ok({ type: 'image/webp', ...size.value, bytes: writeChunks([{ type: 'VP8X', data: extended }, ...rest]) });
};

function readChunks(data: Buffer): Result<Chunk[], string> {
  const chunks: Chunk[] = [];
  for (let at = HEADER_BYTES; at < data.length; ) {
    if (at + CHUNK_BYTES > data.length) return err('has bytes behind its end');
    const length = data.readUInt32LE(at + 4);
    const end = at + CHUNK_BYTES + length;
    const padded = end + (length % 2);
    if (padded > data.length) return err('is cut off');
    if (padded > end && data[end] !== 0) return err('has bytes between its chunks');
    chunks.push({ type: data.toString('latin1', at, at + 4), data: data.subarray(at + CHUNK_BYTES, end) });
    at = padded;
  }
  return ok(chunks);
}

/** A key frame that is shown: tag, start code, 14 bits of width and of height (RFC 6386, 9.1). */
function readLossy(data: Buffer): Result<Size, string> {
  if (data.length < 10) return err('is cut off');
  const tag = data.readUIntLE(0, 3);
  const isShownKey = (tag & 1) === 0 && (tag & 0x10) !== 0;
  if (!isShownKey || data.readUIntBE(3, 3) !== 0x9d012a) return err('has no frame that is shown');
  if (tag >> 5 > data.length - 10) return err('is cut off');
  return ok({ width: data.readUInt16LE(6) & 0x3fff, height: data.readUInt16LE(8) & 0x3fff });
}

/** Signature, width and height less one in 14 bits each, a hint of alpha, and version 0. */
function readLossless(data: Buffer): Result<Size, string> {
  if (data.length < 6 || data[0] !== 0x2f) return err('has no lossless image');
  const bits = data.readUInt32LE(1);
  if (bits >>> 29 !== 0) return err('has an unknown form');
  return ok({ width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 });
}

/** The extended header may announce another size than its image has. */
function checkExtended(data: Buffer, { width, height }: Size): string | undefined {
  if (data.length !== EXTENDED_BYTES) return 'has an unknown form';
  if (((data[0] ?? 0) & ANIMATION_FLAG) !== 0) return 'is animated';
  const isSame = data.readUIntLE(4, 3) + 1 === width && data.readUIntLE(7, 3) + 1 === height;
  return isSame ? undefined : 'has another size than its header says';
}

function writeChunks(chunks: readonly Chunk[]): Buffer {
  const parts = chunks.flatMap(({ type, data }) => {
    const head = Buffer.alloc(CHUNK_BYTES);
    head.write(type, 'latin1');
    head.writeUInt32LE(data.length, 4);
    return [head, data, Buffer.alloc(data.length % 2)];
  });
  const body = Buffer.concat(parts);
  const header = Buffer.from('RIFF\0\0\0\0WEBP', 'latin1');
  header.writeUInt32LE(body.length + 4, 4);
  return Buffer.concat([header, body]);
}
