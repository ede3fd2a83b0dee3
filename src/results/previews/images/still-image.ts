import { err, ok, type Result } from '../../../kernel/index.ts';

export type StillType = 'image/png' | 'image/jpeg' | 'image/webp';

/** A still image of known size, made of what shows its pixels and nothing else. */
export type StillImage = { type: StillType; width: number; height: number; bytes: Uint8Array };

/** The image, or why it is not taken: the end of a sentence that begins with "The image". */
export type ReadImage = (file: Uint8Array) => Result<StillImage, string>;

/** Limits of a preview: what a list of pictures can load at once. */
export const MAX_PREVIEW_BYTES = 64 * 1024;
export const MAX_PREVIEW_SIDE = 512;

const ORIENTATION = 0x0112;
const SHORT = 3;
const UPRIGHT = 1;
const ENTRY_BYTES = 12;

/**
 * Reads whether an image may lose its Exif data, which are TIFF (Exif 2.3, 4.6.2): they say how it
 * is to be turned, and often where it was made. One that is to be turned would lie on its side.
 */
export function readOrientation(exif: Buffer): Result<'upright', string> {
  const order = exif.toString('latin1', 0, 2);
  if (exif.length < 8 || (order !== 'II' && order !== 'MM')) return err('has Exif data that cannot be read');
  const short = (at: number): number => (order === 'II' ? exif.readUInt16LE(at) : exif.readUInt16BE(at));
  const first = order === 'II' ? exif.readUInt32LE(4) : exif.readUInt32BE(4);
  if (short(2) !== 42 || first + 2 > exif.length) return err('has Exif data that cannot be read');
  const end = first + 2 + short(first) * ENTRY_BYTES;
  if (end > exif.length) return err('has Exif data that cannot be read');
  for (let at = first + 2; at < end; at += ENTRY_BYTES) {
    if (short(at) !== ORIENTATION) continue;
    if (short(at + 2) !== SHORT || short(at + 8) !== UPRIGHT) return err('is to be turned, as its Exif data say');
  }
  return ok('upright');
}
