/** Small images of each format, and what attackers make of them. */
import { crc32, deflateSync } from 'node:zlib';

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

export function pngChunk(type: string, data: Uint8Array): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

type Png = { width?: number; height?: number; pixels?: Uint8Array; more?: Buffer[]; form?: number[]; end?: Buffer };

/** A PNG in 8-bit colour. `more`: chunks before its pixels. */
export function makePng({ width = 32, height = 18, pixels, more = [], form = [8, 2, 0, 0, 0], end }: Png = {}): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width);
  header.writeUInt32BE(height, 4);
  header.set(form, 8);
  const rows = pixels ?? deflateSync(Buffer.alloc((1 + 3 * width) * height));
  const last = end ?? pngChunk('IEND', Buffer.alloc(0));
  return Buffer.concat([SIGNATURE, pngChunk('IHDR', header), ...more, pngChunk('IDAT', rows), last]);
}

const image = (width: number, height: number) => new Bun.Image(makePng({ width, height })).resize(width, height);
export const makeJpeg = async (width = 32, height = 18) => Buffer.from(await image(width, height).jpeg().bytes());
export const makeWebp = async (width = 32, height = 18) => Buffer.from(await image(width, height).webp().bytes());

/** A segment of a JPEG, with its marker and length. */
export function jpegSegment(marker: number, data: Uint8Array): Buffer {
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(data.length + 2, 2);
  return Buffer.concat([head, data]);
}

export function webpChunk(type: string, data: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(data.length);
  return Buffer.concat([Buffer.from(type, 'latin1'), length, data, Buffer.alloc(data.length % 2)]);
}

export function webpFile(...chunks: Buffer[]): Buffer {
  const body = Buffer.concat([Buffer.from('WEBP'), ...chunks]);
  const head = Buffer.from('RIFF\0\0\0\0', 'latin1');
  head.writeUInt32LE(body.length, 4);
  return Buffer.concat([head, body]);
}

/** The extended header of a WebP. */
export function webpExtended(flags: number, width: number, height: number): Buffer {
  const data = Buffer.alloc(10);
  data[0] = flags;
  data.writeUIntLE(width - 1, 4, 3);
  data.writeUIntLE(height - 1, 7, 3);
  return webpChunk('VP8X', data);
}
