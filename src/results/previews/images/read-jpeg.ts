import { err, ok, type Result } from '../../../kernel/index.ts';
import type { ReadImage } from './still-image.ts';
import { readOrientation } from './still-image.ts';

const SOI = 0xd8;
const EOI = 0xd9;
const SOS = 0xda;
const DHT = 0xc4;
const DQT = 0xdb;
const DRI = 0xdd;
const COM = 0xfe;
/** JFIF's header, and Adobe's, which says how colours are meant. */
const APP0 = 0xe0;
const APP1 = 0xe1;
const APP14 = 0xee;
const APP15 = 0xef;
const ADOBE_BYTES = 14;
/** The word and two zeros. */
const EXIF_HEADER_BYTES = 6;
/** Baseline, extended and progressive frames: what browsers show. */
const FRAMES = [0xc0, 0xc1, 0xc2];
/** Passes of a progressive image; encoders make about ten. More of them only cost time. */
const MAX_SCANS = 32;

type Size = { width: number; height: number };

/** A JPEG in grey or colour. Comments, profiles, Exif and other data are left out. */
export const readJpeg: ReadImage = (file) => {
  const data = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  const parts: Buffer[] = [data.subarray(0, 2)];
  let size: Size | undefined;
  let scans = 0;
  let tables = 0;
  for (let at = 2; ; ) {
    if (data[at] !== 0xff) return err('has bytes between its segments');
    const marker = data[at + 1];
    if (marker === EOI) {
      if (!size || scans === 0 || tables === 0) return err('has no pixels');
      if (at + 2 < data.length) return err('has bytes behind its end');
      parts.push(data.subarray(at));
      return ok({ type: 'image/jpeg', ...size, bytes: Buffer.concat(parts) });
    }
    if (marker === undefined || at + 4 > data.length) return err('is cut off');
    if (marker === SOI || marker === 0 || marker === 0xff || (marker >= 0xd0 && marker <= 0xd7)) {
      return err('has a marker in the wrong place');
    }
    let end = at + 2 + data.readUInt16BE(at + 2);
    if (end < at + 4 || end > data.length) return err('is cut off');
    const segment = data.subarray(at + 4, end);
    if (FRAMES.includes(marker)) {
      if (size) return err('has two frames');
      const frame = readFrame(segment);
      if (!frame.ok) return frame;
      size = frame.value;
    } else if (marker === SOS) {
      scans += 1;
      if (!size) return err('has pixels before its frame');
      if (scans > MAX_SCANS) return err('has too many scans');
      end = endOfScan(data, end);
    } else if (marker === DHT || marker === DQT) tables += 1;
    else if (marker === APP1 && segment.toString('latin1', 0, 4) === 'Exif') {
      const orientation = readOrientation(segment.subarray(EXIF_HEADER_BYTES));
      if (!orientation.ok) return orientation;
    } else if (!isPlain(marker)) return err(`has a segment of an unknown kind (${marker.toString(16)})`);
    if (!isLeftOut(marker, segment)) parts.push(data.subarray(at, end));
    at = end;
  }
};

const isPlain = (marker: number): boolean => marker === DRI || marker === COM || (marker >= APP0 && marker <= APP15);

function isLeftOut(marker: number, segment: Buffer): boolean {
  if (marker === APP14) return segment.length !== ADOBE_BYTES - 2 || segment.toString('latin1', 0, 5) !== 'Adobe';
  // JFIF's own may hold a second picture.
  return marker === COM || (marker >= APP0 && marker <= APP15);
}

/** Precision, height, width, then three bytes for each component (ITU T.81, B.2.2). */
function readFrame(segment: Buffer): Result<Size, string> {
  const components = segment[5] ?? 0;
  if (segment.length !== 6 + 3 * components || segment[0] !== 8) return err('has an unknown form');
  if (components !== 1 && components !== 3) return err('is neither grey nor in three colours');
  return ok({ width: segment.readUInt16BE(3), height: segment.readUInt16BE(1) });
}

/** The next marker after coded pixels, in which FF is followed by 0 or is a restart. */
function endOfScan(data: Buffer, from: number): number {
  for (let at = data.indexOf(0xff, from); at >= 0; at = data.indexOf(0xff, at + 1)) {
    const next = data[at + 1];
    if (next !== 0 && !(next !== undefined && next >= 0xd0 && next <= 0xd7)) return at;
  }
  return data.length;
}
