import { describeBytes, err } from '../../../kernel/index.ts';
import { readJpeg } from './read-jpeg.ts';
import { readPng } from './read-png.ts';
import { readWebp } from './read-webp.ts';
import type { ReadImage } from './still-image.ts';
import { MAX_PREVIEW_BYTES, MAX_PREVIEW_SIDE } from './still-image.ts';

/**
 * Reads a preview that a stranger made. It is parsed as a whole, so that nothing hides behind or
 * between its parts: one still PNG, JPEG or WebP image within the limits. What comes back is
 * written again from the parts that show pixels. Pixels are not decoded, but for a PNG's, whose
 * length says whether they are what its header announces.
 */
export const readStillImage: ReadImage = (file) => {
  if (file.byteLength > MAX_PREVIEW_BYTES) return err(`has more than ${describeBytes(MAX_PREVIEW_BYTES)}`);
  const read = chooseReader(file);
  if (!read) return err('is neither PNG, JPEG nor WebP');
  const image = read(file);
  if (!image.ok) return image;
  const { width, height } = image.value;
  if (width < 1 || height < 1 || width > MAX_PREVIEW_SIDE || height > MAX_PREVIEW_SIDE) {
    return err(`has ${width} × ${height} pixels; at most ${MAX_PREVIEW_SIDE} a side are taken`);
  }
  return image;
};

function chooseReader(file: Uint8Array): ReadImage | undefined {
  const begins = (text: string, at = 0): boolean =>
    Buffer.from(text, 'latin1').every((byte, n) => file[at + n] === byte);
  if (begins('\x89PNG\r\n\x1a\n')) return readPng;
  if (begins('\xff\xd8\xff')) return readJpeg;
  if (begins('RIFF') && begins('WEBP', 8)) return readWebp;
  return undefined;
}
