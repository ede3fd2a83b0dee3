import { deflateSync } from 'node:zlib';
import type { Result } from '../../../src/kernel/index.ts';
import { readStillImage } from '../../../src/results/previews/images/read-still-image.ts';
import { MAX_PREVIEW_BYTES } from '../../../src/results/previews/images/still-image.ts';
import { jpegSegment, makePng, pngChunk, webpChunk, webpFile } from '../../support/still-images.ts';
import { fill, stallCase } from '../measure-block.ts';

const START = Buffer.from([0xff, 0xd8]);
/** A frame in grey, and the begin of its pixels. */
const FRAME = jpegSegment(0xc0, Buffer.from([8, 0, 9, 0, 9, 1, 1, 0x11, 0]));
const SCAN = jpegSegment(0xda, Buffer.from([1, 1, 0, 0, 63, 0]));

const many = (unit: Buffer, size: number): Buffer =>
  Buffer.concat(Array.from({ length: Math.max(0, Math.floor(size / unit.length)) }, () => unit));

const images = (size: number): Record<string, Buffer> => ({
  'the most pixels': makePng({
    ...{ width: 512, height: 512, form: [16, 6, 0, 0, 0] },
    pixels: deflateSync(Buffer.alloc((1 + 512 * 8) * 512)),
    more: [pngChunk('teXt', Buffer.alloc(Math.max(0, size - 10_000)))],
  }),
  'empty chunks of a PNG': makePng({ more: [many(pngChunk('teXt', Buffer.alloc(0)), size - 500)] }),
  'pixels in empty pieces': makePng({ more: [many(pngChunk('IDAT', Buffer.alloc(0)), size - 500)] }),
  'empty segments of a JPEG': Buffer.concat([START, many(jpegSegment(0xfe, Buffer.alloc(0)), size - 2)]),
  'many scans': Buffer.concat([START, FRAME, many(SCAN, size - 20)]),
  'restarts in pixels': Buffer.concat([START, FRAME, SCAN, Buffer.from(fill('\xff\xd0', size - 40), 'latin1')]),
  'empty chunks of a WebP': webpFile(many(webpChunk('XMP ', Buffer.alloc(0)), size - 12)),
});

export const imageCases = [
  stallCase({
    name: 'a preview',
    limit: MAX_PREVIEW_BYTES,
    worst: images,
    call: readStillImage,
    refuses: (answer) => {
      const { ok, error } = answer as Result<never, string> & { error?: string };
      return !ok && error?.includes('more than') === true;
    },
  }),
];
