import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { measureSound } from '../../src/relay/sound/measure-sound.ts';
import { rounds } from '../support/full-run.ts';

const readFile = (bytes: Uint8Array, sizes: readonly number[] = [64 * 1024]) => ({
  ...{ ref: 'request_file:file', field: 'file', filename: 'sound', mimeType: '', size: bytes.length },
  async *stream() {
    for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
      const size = sizes[turn % sizes.length] ?? 1;
      yield bytes.subarray(at, at + size);
      at += size;
    }
  },
});
const measure = (bytes: Uint8Array, sizes?: readonly number[]) => measureSound([readFile(bytes, sizes)]);

const many = (count: number, bytes: Uint8Array) => Buffer.concat(Array(count).fill(bytes));
const u32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const u16 = (value: number) => u32(value).subarray(2);
const latin = (text: string) => Buffer.from(text, 'latin1');

/** A frame of MP3 with 8 kbit/s and 16 kHz: 36 bytes, 36 ms. */
const MP3 = Buffer.concat([Buffer.from([0xff, 0xf3, 0x18, 0xc4]), Buffer.alloc(32)]);
/** A frame of MP3 with 128 kbit/s and 44.1 kHz: 417 bytes, 26.1 ms. */
const MP3_128 = Buffer.concat([Buffer.from([0xff, 0xfb, 0x90, 0x00]), Buffer.alloc(413)]);
/** One of the same rate with 24 kbit/s: 108 bytes, 36 ms. */
const MP3_24 = Buffer.concat([Buffer.from([0xff, 0xf3, 0x38, 0xc4]), Buffer.alloc(104)]);
/** A frame of AAC at 16 kHz: 20 bytes, 64 ms. */
const ADTS = Buffer.concat([
  Buffer.from([0xff, 0xf1, 0x60, 0x40, 20 >> 3, ((20 & 7) << 5) | 0x1f, 0xfc]),
  Buffer.alloc(13),
]);

function wav(seconds: number, { rate = 8000, channels = 1, bits = 16, format = 1, says = 0xffffffff } = {}): Buffer {
  const head = Buffer.alloc(36);
  head.write('RIFF', 0);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(format, 20);
  head.writeUInt16LE(channels, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt16LE((channels * bits) / 8, 32);
  head.writeUInt16LE(bits, 34);
  const size = Buffer.alloc(4);
  size.writeUInt32LE(says);
  return Buffer.concat([
    head,
    latin('LIST'),
    Buffer.from([3, 0, 0, 0, 1, 2, 3, 0]),
    latin('data'),
    size,
    Buffer.alloc((seconds * rate * channels * bits) / 8),
  ]);
}

function crc8(bytes: Uint8Array): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x80 ? ((crc << 1) ^ 7) & 0xff : crc << 1;
  }
  return crc;
}
/** Frames of 4,096 samples at 16 kHz, of silence: 0.256 s in 16 bytes. */
function flac(frames: number, saysSamples = 1): Buffer {
  const info = Buffer.alloc(34);
  info.writeUInt32BE((16_000 << 12) >>> 0, 10);
  info.writeUInt32BE(saysSamples, 14);
  const all = Array.from({ length: frames }, (_, i) => {
    const number = i < 0x80 ? [i] : [0xc0 | (i >> 6), 0x80 | (i & 0x3f)];
    const head = Buffer.from([0xff, 0xf8, 0xc5, 0x08, ...number]);
    return Buffer.concat([head, Buffer.from([crc8(head)]), Buffer.alloc(9)]);
  });
  return Buffer.concat([latin('fLaC'), Buffer.from([0x80, 0, 0, 34]), info, ...all]);
}

/** The same with a block of metadata, the last of which is its description. */
function flacWith(block: Uint8Array): Buffer {
  const file = flac(1000);
  return Buffer.concat([file.subarray(0, 4), block, file.subarray(4)]);
}

function oggPage(packets: readonly Uint8Array[], { granule = 0n, serial = 7 } = {}): Buffer {
  const head = Buffer.alloc(27);
  head.write('OggS');
  head.writeBigInt64LE(granule, 6);
  head.writeUInt32LE(serial, 14);
  const lacing = packets.flatMap(({ length }) => [...Array(Math.floor(length / 255)).fill(255), length % 255]);
  head.writeUInt8(lacing.length, 26);
  return Buffer.concat([head, Buffer.from(lacing), ...packets]);
}
/** A packet of Opus with 60 ms, at 6 kbit/s. */
const OPUS = Buffer.concat([Buffer.from([3 << 3]), Buffer.alloc(44)]);
const opus = (packets: number, granule = 1n) =>
  Buffer.concat([
    oggPage([Buffer.concat([latin('OpusHead'), Buffer.alloc(11)])]),
    oggPage([Buffer.concat([latin('OpusTags'), Buffer.alloc(300)])]),
    ...Array.from({ length: packets / 10 }, () => oggPage(Array(10).fill(OPUS), { granule })),
  ]);
const vorbis = (seconds: number, bytes: number) =>
  Buffer.concat([
    oggPage([
      Buffer.concat([
        ...[latin('\x01vorbis'), Buffer.alloc(5), Buffer.from([0x80, 0x3e, 0, 0]), Buffer.alloc(12)],
        // The longest packet has 2,048 samples.
        Buffer.from([0xb8, 1]),
      ]),
    ]),
    ...Array.from({ length: bytes / 1000 }, () =>
      oggPage(Array(10).fill(Buffer.alloc(100)), { granule: BigInt(seconds * 16_000) }),
    ),
  ]);

const box = (type: string, ...parts: Uint8Array[]) => {
  const body = Buffer.concat(parts);
  return Buffer.concat([u32(body.length + 8), latin(type), body]);
};
/** AAC at 16 kHz, as its decoder is told. */
const ESDS = box(
  'esds',
  u32(0),
  Buffer.from([3, 0x80, 0x80, 0x80, 25, 0, 0, 0, 4, 17, 0x40, 0x15]),
  Buffer.alloc(11),
  Buffer.from([5, 2, 0x14, 0x08, 6, 1, 2]),
);
function mp4(
  frames: number,
  { delta = 1024, codec = 'mp4a', rate = 16_000, mdatFirst = false, handler = 'soun', esds = ESDS } = {},
): Buffer {
  const entry = Buffer.concat([Buffer.alloc(8), Buffer.alloc(8), u16(1), u16(16), u32(0), u16(rate), u16(0)]);
  const table = [
    box('stsd', u32(0), u32(1), box(codec, entry, esds)),
    box('stts', u32(0), u32(1), u32(frames), u32(delta)),
    box('stsz', u32(0), u32(0), u32(frames), many(frames, u32(30))),
  ];
  const head = [
    box('mdhd', u32(0), u32(0), u32(0), u32(rate), u32(1), u32(0)),
    box('hdlr', u32(0), u32(0), latin(handler), Buffer.alloc(12)),
  ];
  const video = box(
    'trak',
    box(
      'mdia',
      box('mdhd', u32(0), u32(0), u32(0), u32(1), u32(999), u32(0)),
      box('hdlr', u32(0), u32(0), latin('vide'), Buffer.alloc(12)),
      box('minf', box('stbl', box('stts', u32(0), u32(1), u32(1), u32(9999)), box('stsz', u32(0), u32(9), u32(1)))),
    ),
  );
  const moov = box(
    'moov',
    box('mvhd', Buffer.alloc(100)),
    video,
    box('trak', box('mdia', ...head, box('minf', box('smhd', Buffer.alloc(8)), box('stbl', ...table)))),
  );
  const mdat = box('mdat', Buffer.alloc(frames * 30));
  return Buffer.concat([box('ftyp', latin('M4A '), u32(0)), ...(mdatFirst ? [mdat, moov] : [moov, mdat])]);
}

const element = (
  id: number[],
  body: Uint8Array,
  size = [0x10 | (body.length >> 24), (body.length >> 16) & 255, (body.length >> 8) & 255, body.length & 255],
) => Buffer.concat([Buffer.from(id), Buffer.from(size), body]);
const UNKNOWN = [0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
function webm(blocks: number, { codec = 'A_OPUS', body = OPUS, everyMs = 60 } = {}): Buffer {
  const track = element(
    [0xae],
    Buffer.concat([
      element([0xd7], Buffer.from([1])),
      element([0x83], Buffer.from([2])),
      element([0x86], latin(codec)),
    ]),
  );
  const clusters = Array.from({ length: blocks / 10 }, (_, nth) =>
    Buffer.concat([
      element([0x1f, 0x43, 0xb6, 0x75], Buffer.alloc(0), UNKNOWN),
      element([0xe7], u32(nth * 10 * everyMs)),
      ...Array.from({ length: 10 }, (_block, i) =>
        element([0xa3], Buffer.concat([Buffer.from([0x81]), u16(i * everyMs), Buffer.from([0x80]), body])),
      ),
    ]),
  );
  const info = element([0x15, 0x49, 0xa9, 0x66], element([0x2a, 0xd7, 0xb1], Buffer.from([0x0f, 0x42, 0x40])));
  return Buffer.concat([
    element([0x1a, 0x45, 0xdf, 0xa3], Buffer.alloc(20)),
    element([0x18, 0x53, 0x80, 0x67], Buffer.alloc(0), UNKNOWN),
    info,
    element([0x16, 0x54, 0xae, 0x6b], track),
    ...clusters,
  ]);
}

const ID3 = Buffer.concat([latin('ID3'), Buffer.from([4, 0, 0, 0, 0, 2, 0]), Buffer.alloc(256, 0xff)]);

const id3 = (body: Uint8Array, mark = 0) => {
  const size = [21, 14, 7, 0].map((shift) => ((body.length >> shift) & 0x7f) | mark);
  return Buffer.concat([latin('ID3'), Buffer.from([4, 0, 0, ...size]), body]);
};

describe('the length of sound that is to be transcribed', () => {
  const files: [name: string, bytes: Uint8Array, seconds: number][] = [
    ['MP3 of 8 kbit/s', many(10_000, MP3), 360],
    ['MP3 of 128 kbit/s, after tags', Buffer.concat([ID3, many(1000, MP3_128)]), 27],
    [
      'MP3 of both, with junk between',
      Buffer.concat([many(1000, MP3_128), Buffer.alloc(5000, 1), many(1000, MP3)]),
      63,
    ],
    ['AAC', many(1000, ADTS), 64],
    ['WAV', wav(10), 10],
    ['WAV in stereo with a length that is too short', wav(10, { channels: 2, rate: 44_100, says: 10 }), 10],
    ['WAV of 8 bits', wav(10, { bits: 8, format: 7 }), 10],
    ['FLAC that states one sample', flac(1000), 256],
    ['Opus in Ogg that states one sample', opus(1000), 60],
    ['Vorbis', vorbis(20, 40_000), 20],
    ['M4A', mp4(1000), 64],
    ['M4A with its index at the end', mp4(1000, { mdatFirst: true }), 64],
    ['M4A that states no length', mp4(1000, { delta: 0 }), 64],
    ['WebM of a browser', webm(1000), 60],
    ['WebM of Vorbis', webm(1000, { codec: 'A_VORBIS' }), 60],
  ];
  for (const [name, bytes, seconds] of files) {
    test(`is read from the file: ${name}`, async () => {
      for (const sizes of [[1e9], [1], [7, 1000]]) expect([name, await measure(bytes, sizes)]).toEqual([name, seconds]);
    });
  }

  const unread: [name: string, bytes: Uint8Array][] = [
    ['an unknown format', Buffer.alloc(160_000, 7)],
    ['a compressed WAV', wav(10, { format: 0x55 })],
    ['Vorbis that states a second', vorbis(1, 100_000)],
    ['a video without sound', mp4(1000, { handler: 'vide' })],
    ['an unknown codec', mp4(1000, { codec: 'samr' })],
    ['WebM of Vorbis whose times stand still', webm(1000, { codec: 'A_VORBIS', everyMs: 0 })],
    ['an empty Ogg', oggPage([])],
    ['tags alone', ID3],
  ];
  for (const [name, bytes] of unread) {
    test(`bill evasion: where it cannot be read, it is the most that the bytes may be: ${name}`, async () => {
      expect(await measure(bytes)).toBe(Math.ceil(bytes.length / 1000));
    });
  }

  const fmt = (rate: number, { channels = 1, bits = 8, format = 1, more = Buffer.alloc(0) } = {}) => {
    const chunk = Buffer.alloc(24);
    chunk.write('fmt ');
    chunk.writeUInt32LE(16 + more.length, 4);
    chunk.writeUInt16LE(format, 8);
    chunk.writeUInt16LE(channels, 10);
    chunk.writeUInt32LE(rate, 12);
    chunk.writeUInt16LE((channels * bits) / 8, 20);
    chunk.writeUInt16LE(bits, 22);
    return Buffer.concat([chunk, more]);
  };
  const pcm = (...formats: Uint8Array[]) =>
    Buffer.concat([latin('RIFF\xff\xff\xff\x7fWAVE'), ...formats, latin('data\xff\xff\xff\xff'), Buffer.alloc(80_000)]);
  const guid = (code: number) =>
    Buffer.concat([Buffer.alloc(8), Buffer.from([code, 0]), Buffer.from('000000001000800000aa00389b71', 'hex')]);
  const hour = many(10_000, MP3);
  const adts = Buffer.from([0xff, 0xf1, 0, 0, 0, 0xe0, 0]);
  const ape = (body: Uint8Array) => {
    const tag = (flags: number) => {
      const bytes = Buffer.alloc(32);
      bytes.write('APETAGEX');
      bytes.writeUInt32LE(2000, 8);
      bytes.writeUInt32LE(body.length + 32, 12);
      bytes.writeUInt32LE(flags, 20);
      return bytes;
    };
    return Buffer.concat([tag(0xa0000000), body, tag(0x80000000)]);
  };
  const oggs = opus(1000);
  const junk = Buffer.from([7]);
  const clusters = (file: Buffer) => file.subarray(file.indexOf(Buffer.from([0x1f, 0x43, 0xb6, 0x75])));
  const before = (file: Buffer) => file.subarray(0, file.length - clusters(file).length);
  const cover = Buffer.alloc(200_000, 'a picture');

  const honest: [name: string, bytes: Uint8Array, seconds: number][] = [
    ['MP3 between tags and pictures', Buffer.concat([ID3, hour, ape(cover), latin('TAG'), Buffer.alloc(125, 1)]), 360],
    ['MP3 with a padded tag', Buffer.concat([ID3, Buffer.alloc(20_000), hour]), 360],
    ['MP3 of many bit rates', Buffer.concat(Array(1000).fill(Buffer.concat([MP3, MP3_24]))), 72],
    ['two MP3 with tags, one behind the other', Buffer.concat([ID3, hour, ID3, many(1000, MP3_128)]), 387],
    ['WAV of an extensible format', pcm(fmt(8000, { format: 0xfffe, more: guid(1) })), 10],
    ['WebM with attachments', Buffer.concat([webm(1000), element([0x19, 0x41, 0xa4, 0x69], cover)]), 60],
    ['FLAC with a picture', flacWith(Buffer.concat([Buffer.from([6, 3, 0x0d, 0x40]), cover])), 256],
  ];
  for (const [name, bytes, seconds] of honest)
    test(`is not more for what stands beside the sound: ${name}`, async () => {
      for (const sizes of [[1e9], [7, 1000]]) expect([name, await measure(bytes, sizes)]).toEqual([name, seconds]);
    });

  const short: [name: string, bytes: Uint8Array, seconds: number][] = [
    ['a frame of AAC before MP3', Buffer.concat([adts, hour]), 360],
    ['a frame of MP3 before AAC', Buffer.concat([MP3_128, many(1000, ADTS)]), 64],
    ['a frame of AAC before an unknown format', Buffer.concat([adts, Buffer.alloc(60_000, 7)]), 50],
    ['MP3 in a tag before the first frame', Buffer.concat([id3(hour), MP3_128]), 360],
    ['MP3 in a tag that decoders do not take for one', Buffer.concat([id3(hour, 0x80), MP3_128]), 360],
    ['MP3 in a tag behind the last frame', Buffer.concat([many(10, MP3_128), ape(hour)]), 360],
    ['MP3 in frames of another rate', many(1000, Buffer.concat([MP3_128.subarray(0, 4), many(11, MP3)])), 396],
    ['FLAC before MP3', Buffer.concat([flac(1), hour]), 360],
    ['WAV with two formats', pcm(fmt(8000), fmt(192_000, { channels: 8, bits: 32 })), 80],
    ['WAV of an extensible format that is compressed', pcm(fmt(192_000, { format: 0xfffe, more: guid(0x55) })), 80],
    ['junk between pages of Ogg', Buffer.concat([opus(10), junk, oggs]), 60],
    [
      'pages of Ogg in a page',
      Buffer.concat([opus(10), oggPage([Buffer.concat([junk, oggs.subarray(0, 60_000)])])]),
      50,
    ],
    ['an Ogg of no version, before MP3', Buffer.concat([latin('OggS\x01'), Buffer.alloc(22), hour]), 360],
    ['Vorbis under the number of an Opus', Buffer.concat([opus(10), vorbis(60, 200_000)]), 60],
    ['Vorbis whose position is a tenth', vorbis(6, 100_000), 101],
    ['fragments behind the index of an M4A', Buffer.concat([mp4(10), box('moof'), Buffer.alloc(90_000)]), 91],
    ['an M4A whose entry tells another rate than its decoder', mp4(1000, { delta: 0, rate: 48_000 }), 64],
    ['an M4A without the set-up of its decoder', mp4(3000, { esds: Buffer.alloc(0) }), 103],
    ['a broken element between clusters of WebM', Buffer.concat([webm(10), Buffer.alloc(9), clusters(webm(1000))]), 45],
    ['clusters of WebM in a number', Buffer.concat([webm(10), element([0xe7], clusters(webm(1000)))]), 54],
    [
      'clusters of WebM in an unknown element',
      Buffer.concat([webm(10), element([0x44, 0x89], clusters(webm(1000)))]),
      45,
    ],
    [
      'a track of WebM that is described twice',
      Buffer.concat([before(webm(10)), before(webm(10)), clusters(webm(1000))]),
      53,
    ],
  ];
  for (const [name, bytes, seconds] of short)
    test(`bill evasion: no sound is hidden behind other: ${name}`, async () => {
      expect(await measure(bytes)).toBeGreaterThanOrEqual(seconds);
    });

  test('is the sum of several files, rounded once', async () => {
    expect(await measureSound([readFile(wav(1.25)), readFile(wav(1.25)), readFile(Buffer.alloc(2000))])).toBe(5);
  });

  test('denial of service: any bytes give a finite length, in whatever chunks they come', async () => {
    const begins = [...files, ...unread].map(([, bytes]) => bytes.subarray(0, 400));
    await fc.assert(
      fc.asyncProperty(
        fc.record({ begin: fc.constantFrom(...begins), junk: fc.uint8Array({ maxLength: 300 }), at: fc.nat(400) }),
        fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 3 }),
        async ({ begin, junk, at }, sizes) => {
          const bytes = Buffer.concat([begin.subarray(0, at), junk, begin.subarray(at)]);
          const whole = await measure(bytes);
          expect(Number.isFinite(whole)).toBe(true);
          expect(await measure(bytes, sizes)).toBe(whole);
        },
      ),
      { seed: 20_261_128, numRuns: rounds(300) },
    );
  });
});
