/** What strangers may offer as a preview: one still image of known size, and nothing else. */
import { describe, expect, test } from 'bun:test';
import { deflateSync } from 'node:zlib';
import { readStillImage } from '../../src/results/previews/images/read-still-image.ts';
import type { StillType } from '../../src/results/previews/images/still-image.ts';
import { MAX_PREVIEW_BYTES } from '../../src/results/previews/images/still-image.ts';
import {
  jpegSegment,
  makeJpeg,
  makePng,
  makeWebp,
  pngChunk,
  webpChunk,
  webpExtended,
  webpFile,
} from '../support/still-images.ts';

const PAGE = Buffer.from('<script>alert(document.domain)</script>');
const jpeg = await makeJpeg();
const webp = await makeWebp();
/** The only chunk of a simple WebP. */
const bitstream = webp.subarray(12);
const transparent = Buffer.from(
  await new Bun.Image(makePng({ form: [8, 6, 0, 0, 0], pixels: deflateSync(Buffer.alloc(129 * 18)) })).webp().bytes(),
);
const progressive = Buffer.from(await new Bun.Image(makePng()).jpeg({ progressive: true }).bytes());
/** Exif data with an orientation, a place and a name, in the byte order of most cameras. */
function exifFor(orientation: number, ...[type = 3]: number[]): Buffer {
  const tiff = Buffer.alloc(8 + 2 + 2 * 12 + 4);
  tiff.write('MM\0*', 'latin1');
  tiff.writeUInt32BE(8, 4);
  tiff.writeUInt16BE(2, 8);
  tiff.writeUInt16BE(0x0112, 10);
  tiff.writeUInt16BE(type, 12);
  tiff.writeUInt32BE(1, 14);
  tiff.writeUInt16BE(orientation, 18);
  // GPS data behind a pointer.
  tiff.writeUInt16BE(0x8825, 22);
  return Buffer.concat([Buffer.from('Exif\0\0'), tiff, PAGE]);
}
/** Bytes of a JPEG before its first segment, and the rest. */
const [start, rest] = [jpeg.subarray(0, 2), jpeg.subarray(2)];

test.each<[string, Buffer, string]>([
  ['a PNG', makePng(), 'image/png'],
  ['a JPEG', jpeg, 'image/jpeg'],
  ['a progressive JPEG', progressive, 'image/jpeg'],
  ['a WebP', webp, 'image/webp'],
  ['a WebP with transparency', transparent, 'image/webp'],
  ['an extended WebP', webpFile(webpExtended(0, 32, 18), bitstream), 'image/webp'],
])('%s is read with its size, and what is kept still shows the same', async (_name, file, type) => {
  const read = readStillImage(file);
  if (!read.ok) throw new Error(read.error);
  expect(read.value).toMatchObject({ type: type as StillType, width: 32, height: 18 });
  const [before, after] = await Promise.all(
    [file, read.value.bytes].map(async (bytes) => Buffer.from(await new Bun.Image(bytes).png().bytes())),
  );
  expect(after?.equals(before ?? Buffer.alloc(0))).toBe(true);
  expect(readStillImage(read.value.bytes)).toEqual(read);
});

test.each<[string, Buffer]>([
  ['a text of a PNG', makePng({ more: [pngChunk('tEXt', PAGE)] })],
  ['a comment of a JPEG', Buffer.concat([start, jpegSegment(0xfe, PAGE), rest])],
  ['XMP of a JPEG', Buffer.concat([start, jpegSegment(0xe1, PAGE), rest])],
  ['Exif of a JPEG, as Safari writes it', Buffer.concat([start, jpegSegment(0xe1, exifFor(1)), rest])],
  ['Exif of a PNG', makePng({ more: [pngChunk('eXIf', exifFor(1).subarray(6))] })],
  ['Exif of a WebP', webpFile(webpExtended(8, 32, 18), bitstream, webpChunk('EXIF', exifFor(1).subarray(6)))],
  ['XMP of a WebP', webpFile(webpExtended(4, 32, 18), bitstream, webpChunk('XMP ', PAGE))],
  ['a profile of a WebP', webpFile(webpExtended(0x20, 32, 18), webpChunk('ICCP', PAGE), bitstream)],
])('metadata: %s is left out', (_name, file) => {
  const read = readStillImage(file);
  expect(read.ok && [read.value.width, Buffer.from(read.value.bytes).includes('script')]).toEqual([32, false]);
});

const bomb = Buffer.from(makePng());
bomb.writeUInt32BE(50_000, 16);
const frame = jpeg.indexOf(Buffer.from([0xff, 0xc0]));
const wideJpeg = Buffer.from(jpeg);
wideJpeg.writeUInt16BE(60_000, frame + 7);
const animation = pngChunk('acTL', Buffer.from([0, 0, 0, 2, 0, 0, 0, 0]));

describe('is refused:', () => {
  test.each<[string, Buffer, RegExp]>([
    ['nothing', Buffer.alloc(0), /neither/],
    ['SVG with a script', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script/></svg>'), /neither/],
    ['a GIF', Buffer.from('GIF89a\x01\0\x01\0\0\0\0;', 'latin1'), /neither/],
    ['oversize: one byte more than a preview has', Buffer.alloc(MAX_PREVIEW_BYTES + 1), /more than 64 kB/],
    ['polyglot: a page behind a PNG', Buffer.concat([makePng(), PAGE]), /behind its end/],
    ['polyglot: a page behind a JPEG', Buffer.concat([jpeg, PAGE]), /behind its end/],
    ['polyglot: a page behind a WebP', Buffer.concat([webp, PAGE]), /behind its end/],
    ['polyglot: a page in the end of a PNG', makePng({ end: pngChunk('IEND', PAGE) }), /behind its end/],
    [
      'polyglot: a page behind the pixels of a PNG',
      makePng({ pixels: Buffer.concat([deflateSync(Buffer.alloc(97 * 18)), PAGE]) }),
      /other pixels/,
    ],
    ['polyglot: an unknown chunk of a PNG', makePng({ more: [pngChunk('EVIL', PAGE)] }), /unknown chunk/],
    [
      'polyglot: bytes between the segments of a JPEG',
      Buffer.concat([start, jpegSegment(0xfe, PAGE), PAGE, rest]),
      /between/,
    ],
    ['polyglot: a second image in a WebP', webpFile(bitstream, bitstream), /unknown kind or order/],
    [
      'polyglot: an unknown chunk of a WebP',
      webpFile(webpExtended(0, 32, 18), webpChunk('EVIL', PAGE), bitstream),
      /unknown kind/,
    ],
    [
      'decompression bomb: a PNG that announces 50,000 pixels',
      makePng({ width: 50_000, height: 2, pixels: deflateSync(Buffer.alloc(9)) }),
      /50000 × 2/,
    ],
    ['decompression bomb: a header that was changed', bomb, /checksum/],
    [
      'decompression bomb: pixels without end',
      makePng({ pixels: deflateSync(Buffer.alloc(20_000_000)) }),
      /other pixels/,
    ],
    ['decompression bomb: a JPEG that announces 60,000 pixels', wideJpeg, /60000 × 18/],
    [
      'decompression bomb: a WebP whose two headers differ',
      webpFile(webpExtended(0, 16_000, 18), bitstream),
      /another size/,
    ],
    ['a side of 513 pixels', makePng({ width: 513 }), /at most 512/],
    ['a PNG without pixels', makePng({ width: 0 }), /0 × 18/],
    ['too few pixels', makePng({ pixels: deflateSync(Buffer.alloc(97)) }), /other pixels/],
    ['an unknown filter of a row', makePng({ pixels: deflateSync(Buffer.alloc(97 * 18, 9)) }), /other pixels/],
    ['an interlaced PNG', makePng({ form: [8, 2, 0, 0, 1] }), /interlaced/],
    ['a colour type that there is not', makePng({ form: [8, 5, 0, 0, 0] }), /unknown form/],
    ['a chunk of another length', Buffer.concat([makePng().subarray(0, -8)]), /cut off/],
    ['animated PNG', makePng({ more: [animation] }), /animated/],
    [
      'animated WebP',
      webpFile(webpExtended(2, 32, 18), webpChunk('ANIM', Buffer.alloc(6)), webpChunk('ANMF', bitstream)),
      /animated/,
    ],
    ['animated WebP without frames', webpFile(webpExtended(2, 32, 18), bitstream), /animated/],
    ['Exif of a PNG', makePng({ more: [pngChunk('eXIf', PAGE)] }), /Exif/],
    ['Exif of a JPEG', Buffer.concat([start, jpegSegment(0xe1, Buffer.from('Exif\0\0MM')), rest]), /Exif/],
    ['Exif of a WebP', webpFile(webpExtended(8, 32, 18), bitstream, webpChunk('EXIF', PAGE)), /Exif/],
    ['Exif that turns a JPEG', Buffer.concat([start, jpegSegment(0xe1, exifFor(6)), rest]), /turned/],
    [
      'Exif with an orientation of another type',
      makePng({ more: [pngChunk('eXIf', exifFor(1, 4).subarray(6))] }),
      /turned/,
    ],
    ['Exif that ends in its list', makePng({ more: [pngChunk('eXIf', exifFor(1).subarray(6, 25))] }), /cannot be read/],
    ['a JPEG cut off in its pixels', jpeg.subarray(0, -2), /between|cut off/],
    ['a JPEG without pixels', Buffer.from([0xff, 0xd8, 0xff, 0xd9]), /no pixels/],
    ['a JPEG with two frames', Buffer.concat([jpeg.subarray(0, frame + 19), jpeg.subarray(frame)]), /two frames/],
    ['a WebP of a video frame that is not shown', webpFile(webpChunk('VP8 ', Buffer.alloc(20))), /no frame/],
  ])('%s', (_name, file, reason) => {
    const read = readStillImage(file);
    expect(read.ok ? 'taken' : read.error).toMatch(reason);
  });
});

test('cut anywhere, a file is refused and never read beyond its end', () => {
  for (const file of [makePng(), jpeg, webp, transparent]) {
    for (let length = 0; length < file.length; length += 1) {
      expect(readStillImage(file.subarray(0, length)).ok).toBe(false);
    }
  }
});
