import { crc32, inflateSync } from 'node:zlib';
import { err, ok } from '../../../kernel/index.ts';
import type { ReadImage } from './still-image.ts';
import { MAX_PREVIEW_SIDE, readOrientation } from './still-image.ts';

const SIGNATURE_BYTES = 8;
/** Length, type and checksum of a chunk. */
const FRAME_BYTES = 12;
/** What shows pixels. */
const TAKEN = ['IHDR', 'PLTE', 'tRNS', 'IDAT', 'IEND'];
/** Frames of an animation. */
const REFUSED = ['acTL', 'fcTL', 'fdAT'];
/** Samples of a pixel, and the depths that each colour type has (PNG 3, 11.2.1). */
const COLOURS: Record<number, { samples: number; depths: number[] }> = {
  0: { samples: 1, depths: [1, 2, 4, 8, 16] },
  2: { samples: 3, depths: [8, 16] },
  3: { samples: 1, depths: [1, 2, 4, 8] },
  4: { samples: 2, depths: [8, 16] },
  6: { samples: 4, depths: [8, 16] },
};
const MAX_FILTER = 4;

/** What zlib answers with `info`; `bytesWritten`: those that it read. */
type Inflated = { buffer: Buffer; engine: { bytesWritten: number } };

/** A PNG without interlacing. Its other chunks, such as texts and colour profiles, are left out. */
export const readPng: ReadImage = (file) => {
  const data = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  const parts: Buffer[] = [data.subarray(0, SIGNATURE_BYTES)];
  const pixels: Buffer[] = [];
  let header: Buffer | undefined;
  let before = '';
  for (let at = SIGNATURE_BYTES; before !== 'IEND'; ) {
    if (at + FRAME_BYTES > data.length) return err('is cut off');
    const length = data.readUInt32BE(at);
    const type = data.toString('latin1', at + 4, at + 8);
    const end = at + FRAME_BYTES + length;
    if (end > data.length) return err('is cut off');
    if (crc32(data.subarray(at + 4, end - 4)) !== data.readUInt32BE(end - 4)) return err('has a wrong checksum');
    if (REFUSED.includes(type)) return err('is animated');
    if (type === 'eXIf') {
      const orientation = readOrientation(data.subarray(at + 8, end - 4));
      if (!orientation.ok) return orientation;
    }
    if ((header === undefined) !== (type === 'IHDR')) return err('does not begin with exactly one header');
    if (type === 'IHDR') header = data.subarray(at + 8, end - 4);
    else if (type === 'IDAT') {
      if (pixels.length > 0 && before !== 'IDAT') return err('has pixels in two places');
      pixels.push(data.subarray(at + 8, end - 4));
    } else if (!TAKEN.includes(type) && !/^[a-z]/.test(type))
      return err(`has an unknown chunk ${JSON.stringify(type)}`);
    if (TAKEN.includes(type)) parts.push(data.subarray(at, end));
    if (type === 'IEND' && (length > 0 || end < data.length)) return err('has bytes behind its end');
    before = type;
    at = end;
  }
  if (header?.length !== 13) return err('has no header');
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const [depth = 0, colour = 0, compression, filter, interlace] = header.subarray(8);
  const kind = COLOURS[colour];
  if (!kind?.depths.includes(depth) || compression !== 0 || filter !== 0) return err('has an unknown form');
  if (interlace !== 0) return err('is interlaced');
  // Before anything is inflated: the header decides how much that may be.
  if (width < 1 || height < 1 || width > MAX_PREVIEW_SIDE || height > MAX_PREVIEW_SIDE) {
    return ok({ type: 'image/png', width, height, bytes: data });
  }
  const rowBytes = 1 + Math.ceil((width * kind.samples * depth) / 8);
  if (!hasRows(Buffer.concat(pixels), { rowBytes, height })) return err('has other pixels than its header says');
  return ok({ type: 'image/png', width, height, bytes: Buffer.concat(parts) });
};

/** Whether the pixels inflate to exactly these rows, each of which begins with a known filter. */
function hasRows(pixels: Buffer, { rowBytes, height }: { rowBytes: number; height: number }): boolean {
  try {
    const maxOutputLength = rowBytes * height;
    const { buffer: rows, engine } = inflateSync(pixels, { maxOutputLength, info: true }) as unknown as Inflated;
    if (rows.length !== maxOutputLength || engine.bytesWritten !== pixels.length) return false;
    for (let at = 0; at < rows.length; at += rowBytes) if ((rows[at] ?? 0) > MAX_FILTER) return false;
    return true;
  } catch {
    return false;
  }
}
